"""What nodes send, and what a run on Flower remembers of them."""

import json
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict
from flwr.supercore.task_identity import TaskIdentity

from flockwise.errors import FlockwiseError
from flockwise.flower.exchange import Answer
from flockwise.flower.records import RecordLayout, read_array
from flockwise.flower.roster import Roster
from flockwise.flower.user_messages import MALFORMED as OF_USERS
from flockwise.flower.user_messages import UserMessages
from flockwise.flower.worker_answers import MALFORMED, read_reply, read_scores, results_of
from flockwise.messages import Task
from flockwise.scoring import ACCURACY
from tests.reliability.fuzz.target import decoder

SHAPE = (2, 2)


def arrays() -> list[bytes]:
    return [
        Array(np.ones(SHAPE, dtype)).data for dtype in ("<f4", "<f8", ">f2")
    ] + [Array(np.asfortranarray(np.ones(SHAPE))).data]  # fmt: skip


@decoder("array from a node", arrays)
def _(data: bytes, folder: Path) -> object:
    found = read_array(Array("float32", SHAPE, "numpy.ndarray", data), SHAPE, "x")
    assert found.shape == SHAPE and found.dtype == np.float32
    return found


@cache
def _work() -> Any:
    shards = [SimpleNamespace(address=None, hour=None, user=None)] * 4
    return SimpleNamespace(
        travel=SimpleNamespace(size=4), report=None, federation=SimpleNamespace(shards=shards), columns=3,
        task=SimpleNamespace(scoring=ACCURACY),
    )  # fmt: skip


@cache
def _sent() -> ArrayRecord:
    """The arrays beside the results, the same for all inputs."""
    array = Array(np.zeros(4, np.float32))
    return ArrayRecord({str(number): array for number in range(4)})


def node_results() -> list[bytes]:
    return [
        json.dumps([[0, 10, 0, 0.5], [1, 7, 1, None]]).encode(),
        json.dumps([[0, 10, [[0.5, 1.0, 2.0], [0.6, None, 1.0]]], [2, 7, [[1.0, 0.0, 0.0]]]]).encode(),
    ]


@decoder("results from a node", node_results, refuses=MALFORMED, lines=True)
def _(data: bytes, folder: Path) -> object:
    """Whatever is in MALFORMED costs the node its answers, with the reason on record."""
    text = ConfigRecord({"results": data.decode("utf-8", "replace")})
    message = SimpleNamespace(content=RecordDict({"results": text, "arrays": _sent()}))
    found = results_of(message, [Task(number, (0, 1)) for number in range(4)], 2)  # type: ignore[arg-type]
    for result in found.values():
        if len(result) == 4:
            read_reply(_work(), 1, result, message)  # type: ignore[arg-type]
        else:
            read_scores(_work(), result)
    return found


@cache
def _asked() -> tuple[Message, RecordLayout]:
    """What the client was asked, and the layout of the model: the same for all inputs."""
    TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 7, 1, 1
    model = ArrayRecord({"w": Array(np.zeros(SHAPE, np.float32)), "n": Array(np.zeros(1, np.int64))})
    return Message(RecordDict(), 1, "train", group_id="1"), RecordLayout.of(model)


def user_answers() -> list[bytes]:
    return [bytes([0]) + data + b"\0\0num-examples\0accuracy" for data in arrays()[:2]] + [
        bytes([7]) + arrays()[0]
    ]


@decoder("answer of a user's client", user_answers, refuses=(*OF_USERS, FlockwiseError), lines=True)
def _(data: bytes, folder: Path) -> object:
    """The first byte says which of the usual parts are odd, the rest is the array and the names of metrics."""
    odd, rest = (data[0], data[1:]) if data else (0, b"")
    body, _, names = rest.partition(b"\0\0num") if not odd & 8 else (rest, b"", rest[-40:])
    array = Array("float32", SHAPE, "numpy.ndarray" if not odd & 1 else names.decode("latin1"), body)
    metrics: dict[str, Any] = {name.decode("latin1"): len(name) - 3 for name in (b"num" + names).split(b"\0")}
    metrics |= {"num-examples": [1, 2]} if odd & 2 else {"loss": float("nan")} if odd & 4 else {}
    content = RecordDict({"arrays": ArrayRecord({"w": array, "n": array}), "metrics": MetricRecord(metrics)})
    asked, layout = _asked()
    reply = Message(content, reply_to=asked)
    messages = UserMessages(Roster(2), layout)
    answer = Answer(0, reply, 0, 0.0)
    messages.score(answer)
    list(messages.remarks([answer]))
    vector = layout.vector(messages.keys.trained(reply))
    return vector, messages.keys.count(reply)


@decoder(
    "clients of a run on Flower", lambda: [b'[["key ab", "node-0", null], ["key cd", "node-1", "10.0.0.1"]]']
)
def _(data: bytes, folder: Path) -> object:
    roster = Roster(4)
    roster.restore(data.decode("utf-8", "replace"))
    return roster.to_json()
