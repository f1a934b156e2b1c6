"""What we use of Flower beyond what it promises is in one file, and still there; replies are cut off in time."""

import ast
import importlib
import inspect
import json
import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("flwr", reason="needs flockwise[flower]")

from flwr.app import Array, ArrayRecord, Message, RecordDict

import flockwise.flower
from flockwise.flower import command
from flockwise.flower.internals import NAMES, TooLarge, capped, is_plain

FOLDER = Path(flockwise.flower.__file__).parent
PUBLIC = {"flwr.app", "flwr.clientapp", "flwr.serverapp", "flwr.serverapp.strategy"}


def test_this_is_all_of_flower_that_we_need_beyond_what_it_promises():
    assert [name.removeprefix("flwr.") for name in NAMES] == [
        "supercore:log",
        "simulation:run_simulation",
        "superlink.grid.inmemory_grid:InMemoryGrid",
        "superlink.grid.http_grid:HttpGrid._runtime_client",
        "superlink.grid.http_grid:HttpGrid._insecure",
        "supercore.runtime:RuntimeHttpClient.PullObject",
        "supercore.inflatable.inflatable_object:get_object_head_values_from_object_content",
        "supercore.inflatable.inflatable_object:get_object_body",
        "common.constant:ErrorCode.MESSAGE_UNAVAILABLE",
        "common.constant:ErrorCode.REPLY_MESSAGE_UNAVAILABLE",
        "common.constant:ErrorCode.NODE_UNAVAILABLE",
        "proto.node_pb2:NodeInfo.node_id",
        "proto.node_pb2:NodeInfo.public_key",
        "proto.node_pb2:NodeInfo.name",
        "proto.node_pb2:NodeInfo.location",
        "proto.node_pb2:NodeInfo.registered_at",
        "proto.message_pb2:PullObjectResponse.object_content",
    ]


@pytest.mark.parametrize("name", NAMES)
def test_the_installed_flower_has_what_we_need(name):
    module, _, path = name.partition(":")
    found = importlib.import_module(module)
    for part in path.split("."):
        fields = getattr(getattr(found, "DESCRIPTOR", None), "fields_by_name", {})  # of a message in protobuf
        if isinstance(found, type) and not hasattr(found, part) and not fields:
            assert f"self.{part} = " in inspect.getsource(found.__init__), name  # every object of it has one
            return
        found = fields[part] if part in fields else getattr(found, part)


@pytest.mark.parametrize("plain", [True, False])
def test_a_grid_knows_whether_it_speaks_in_plain_text(plain):
    from flwr.superlink.grid.http_grid import HttpGrid

    grid = HttpGrid("127.0.0.1:1", insecure=plain, token="x")
    assert is_plain(grid) is plain
    grid.close()


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.py")), ids=lambda file: file.stem)
def test_no_other_file_uses_more_of_flower_than_it_promises(file):
    tree = ast.parse(file.read_text())
    used = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    used |= {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    private = {name for name in used if name.split(".")[0] == "flwr"} - PUBLIC
    if file.stem == "internals":
        assert private == {name.partition(":")[0] for name in NAMES} - {"flwr.proto.node_pb2", "flwr.proto.message_pb2",
                                                                       "flwr.superlink.grid.http_grid",
                                                                       "flwr.supercore.runtime"}  # fmt: skip
    else:
        assert not private


def test_flowers_commands_still_answer_with_the_words_we_read():
    import flwr

    source = "".join(path.read_text() for path in Path(flwr.__file__).parent.rglob("*.py"))
    words = (command.RUN, command.RUNS, command.STATUS, command.DETAILS, command.NODES, command.SUCCESS,
             command.ERROR)  # fmt: skip
    for word in words:
        assert re.search(rf'"{word}"', source), word


class SuperLink:
    """Answers a grid's requests for one message, in Flower's own pieces, and counts what is fetched."""

    def __init__(self, message, contents=None):
        from flwr.supercore.inflatable.inflatable_object import get_all_nested_objects, get_object_tree

        self.message, self.tree = message, get_object_tree(message)
        nested = get_all_nested_objects(message)
        self.contents = {name: item.deflate() for name, item in nested.items()} | (contents or {})
        self.fetched = 0
        self._client = self  # for the hooks of its HTTP client
        self.event_hooks = {"request": [], "response": []}

    def PullMessages(self, request):
        from flwr.app.message import remove_content_from_message
        from flwr.common.serde import message_to_proto
        from flwr.proto.runtime_pb2 import PullAppMessagesResponse

        found = message_to_proto(remove_content_from_message(self.message))
        found.metadata.message_id = self.message.object_id
        return PullAppMessagesResponse(messages_list=[found], message_object_trees=[self.tree])

    def PullObject(self, request):
        from flwr.proto.message_pb2 import PullObjectResponse

        content = self.contents[request.object_id]
        self.fetched += len(content)
        return PullObjectResponse(object_found=True, object_available=True, object_content=content)

    def ConfirmMessageReceived(self, request):
        return None


def grid_of(superlink):
    from flwr.supercore.run import Run
    from flwr.superlink.grid.http_grid import HttpGrid

    grid = HttpGrid(token="x")
    grid._run, grid._client = Run.create_empty(7), superlink
    return grid


def reply(array):
    from flwr.supercore.task_identity import TaskIdentity

    TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 7, 1, 1
    return Message(RecordDict({"arrays": ArrayRecord({"w": Array(array)})}), 3, "train")


def test_a_reply_of_the_right_size_comes_through_and_leaves_no_trace():
    superlink = SuperLink(reply(np.arange(1000.0)))
    grid = grid_of(superlink)
    with capped(grid, 20_000):
        (found,) = grid.pull_messages(["x"])
    np.testing.assert_array_equal(found.content["arrays"]["w"].numpy(), np.arange(1000.0))
    assert superlink.event_hooks["response"] == [] and "PullObject" not in vars(superlink)


def test_a_reply_that_is_too_large_is_not_fetched_to_its_end_and_not_decoded(monkeypatch):
    superlink = SuperLink(reply(np.random.default_rng(0).normal(size=10_000_000)))  # 80 MB, in 16 pieces
    grid = grid_of(superlink)
    monkeypatch.setattr(Array, "inflate", lambda *_, **__: pytest.fail("decoded"))
    with pytest.raises(TooLarge, match="at most 8000000 can be right"), capped(grid, 8_000_000):
        grid.pull_messages(["x"])
    assert superlink.fetched < 60_000_000


def test_a_piece_that_is_named_a_thousand_times_counts_a_thousand_times(monkeypatch):
    honest = reply(np.zeros(1000))
    array = honest.content["arrays"]["w"]
    name, content = array.object_id, array.deflate()
    head, _, body = content.partition(b"\x00")
    about = {**json.loads(body), "arraychunk_ids": [0] * 1000}
    longer = json.dumps(about).encode()
    kind, children, _ = head.decode().split(" ")
    forged = f"{kind} {children} {len(longer)}".encode() + b"\x00" + longer
    grid = grid_of(SuperLink(honest, {name: forged}))
    monkeypatch.setattr(Array, "inflate", lambda *_, **__: pytest.fail("decoded"))
    with pytest.raises(TooLarge), capped(grid, 1_000_000):
        grid.pull_messages(["x"])


def test_one_huge_piece_is_refused_before_its_body_is_read():
    import httpx

    from flockwise.flower.internals import _Count

    read = []

    class Body(httpx.SyncByteStream):
        def __iter__(self):
            read.append(1)
            yield b"x"

    answer = lambda request: httpx.Response(200, headers={"content-length": "900000000"}, stream=Body())  # noqa: E731
    client = httpx.Client(transport=httpx.MockTransport(answer))
    client.event_hooks = {"response": [_Count(1_000_000).announced]}
    with pytest.raises(TooLarge, match="900000000 bytes"):
        client.send(client.build_request("POST", "https://x/v1/runtime/pull-object"))
    assert not read
    client.send(client.build_request("POST", "https://x/v1/runtime/get-nodes"))


def test_the_real_client_has_the_http_client_that_the_cap_listens_to():
    import httpx
    from flwr.superlink.grid.http_grid import HttpGrid

    grid = HttpGrid("127.0.0.1:1", insecure=True, token="x")
    assert isinstance(grid._runtime_client._client, httpx.Client)
    with capped(grid, 10):
        assert len(grid._runtime_client._client.event_hooks["response"]) == 1
    assert grid._runtime_client._client.event_hooks["response"] == []
    grid.close()
