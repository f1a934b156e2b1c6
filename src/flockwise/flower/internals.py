"""The parts of Flower that it does not promise to keep, all of them in this file.

`NAMES` lists what must be there; a new version of Flower is tried by its test first. What Flower's own commands
answer is in `command.py`.
"""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from flwr.app import Array, Message
from flwr.clientapp import ClientApp
from flwr.common.constant import ErrorCode
from flwr.serverapp import Grid, ServerApp
from flwr.supercore import log

NAMES = (
    "flwr.supercore:log",
    "flwr.simulation:run_simulation",
    "flwr.superlink.grid.inmemory_grid:InMemoryGrid",
    "flwr.superlink.grid.http_grid:HttpGrid._runtime_client",
    "flwr.superlink.grid.http_grid:HttpGrid._insecure",
    "flwr.supercore.runtime:RuntimeHttpClient.PullObject",
    "flwr.supercore.inflatable.inflatable_object:get_object_head_values_from_object_content",
    "flwr.supercore.inflatable.inflatable_object:get_object_body",
    "flwr.common.constant:ErrorCode.MESSAGE_UNAVAILABLE",
    "flwr.common.constant:ErrorCode.REPLY_MESSAGE_UNAVAILABLE",
    "flwr.common.constant:ErrorCode.NODE_UNAVAILABLE",
    "flwr.proto.node_pb2:NodeInfo.node_id",
    "flwr.proto.node_pb2:NodeInfo.public_key",
    "flwr.proto.node_pb2:NodeInfo.name",
    "flwr.proto.node_pb2:NodeInfo.location",
    "flwr.proto.node_pb2:NodeInfo.registered_at",
    "flwr.proto.message_pb2:PullObjectResponse.object_content",
)
__all__ = [
    "NAMES",
    "NODE_GONE",
    "Node",
    "TooLarge",
    "capped",
    "is_plain",
    "is_simulation",
    "log",
    "nodes_of",
    "simulate",
    "size_of",
]


@dataclass(frozen=True)
class Node:
    """A node as it is registered; `name` and `location` are what its operator said."""

    number: int
    key: bytes
    name: str
    location: str | None
    registered: str


def nodes_of(grid: Grid) -> list[Node]:
    """Who is online."""
    return [
        Node(
            node.node_id, bytes(node.public_key), node.name if node.HasField("name") else "",
            node.location if node.HasField("location") else None, str(node.registered_at),
        )
        for node in grid.get_nodes()
    ]  # fmt: skip


def is_simulation(grid: Grid) -> bool:
    """Whether the grid is that of Flower's simulation."""
    from flwr.superlink.grid.inmemory_grid import InMemoryGrid

    return isinstance(grid, InMemoryGrid)


def is_plain(grid: Grid) -> bool:
    """Whether what is said to nodes travels in plain text."""
    return bool(getattr(grid, "_insecure", False))


def simulate(server: ServerApp, client: ClientApp, nodes: int, backend: dict[str, Any]) -> None:
    """Run both apps in Flower's simulation, until the ServerApp ends."""
    from flwr.simulation import run_simulation

    run_simulation(server, client, nodes, backend_config=backend)


# By Flower's codes of errors: the message or the reply was lost, or the node is gone. The client itself did not fail.
NODE_GONE = frozenset(
    {ErrorCode.MESSAGE_UNAVAILABLE, ErrorCode.REPLY_MESSAGE_UNAVAILABLE, ErrorCode.NODE_UNAVAILABLE}
)


class TooLarge(Exception):
    """A reply takes more bytes than any that could be right."""


def size_of(message: Message) -> int:
    """The bytes of a message's arrays and of what else in it can be long."""
    content = message.content
    arrays = sum(len(array.data) for record in content.array_records.values() for array in record.values())
    others: list[Any] = [*content.config_records.values(), *content.metric_records.values()]
    values = (value for record in others for value in record.values())
    return arrays + sum(len(v) if isinstance(v, bytes | str | list) else 8 for v in values)


@contextmanager
def capped(grid: Grid, most: int | None) -> Iterator[None]:
    """Within it, a message of more bytes than this is not fetched to its end, and nothing of it is decoded.

    Flower fetches a message in pieces, so they are counted on the way; other grids have their messages at hand.
    """
    client: Any = getattr(grid, "_runtime_client", None)
    if client is None or most is None:
        yield
        return
    count = _Count(most)
    hooks = client._client.event_hooks
    client._client.event_hooks = {**hooks, "response": [*hooks["response"], count.announced]}
    client.PullObject = count.counting(client.PullObject)
    try:
        yield
    finally:
        del client.PullObject  # the class's own shows again
        client._client.event_hooks = hooks


class _Count:
    """How many bytes a message comes to, with its pieces as often as its arrays name them."""

    def __init__(self, most: int) -> None:
        self._most, self._lock = most, threading.Lock()
        self._sizes: dict[str, int] = {}
        self._named: dict[str, int] = {}

    def announced(self, response: Any) -> None:
        """Called before a body is read: one that is too long by itself is not."""
        length = response.headers.get("content-length", "0")
        if response.request.url.path.endswith("/pull-object") and int(length) > self._most + 4096:
            raise TooLarge(self._why(int(length)))

    def counting(self, pull: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """The fetching of a piece, with an error once all of them are too much."""

        def counted(request: Any) -> Any:
            response = pull(request)
            with self._lock:
                self._note(str(request.object_id), bytes(response.object_content))
                total = sum(size * self._named.get(name, 1) for name, size in self._sizes.items())
            if total > self._most:
                raise TooLarge(self._why(total))
            return response

        return counted

    def _note(self, name: str, content: bytes) -> None:
        from flwr.supercore.inflatable.inflatable_object import (
            get_object_body,
            get_object_head_values_from_object_content,
        )

        if not content or name in self._sizes:
            return
        self._sizes[name] = len(content)
        kind, children, _ = get_object_head_values_from_object_content(content)
        if kind == "Array":  # a few bytes can name one piece thousands of times
            for place in json.loads(get_object_body(content, Array))["arraychunk_ids"]:
                self._named[children[place]] = self._named.get(children[place], 0) + 1

    def _why(self, size: int) -> str:
        return f"takes at least {size} bytes; at most {self._most} can be right"
