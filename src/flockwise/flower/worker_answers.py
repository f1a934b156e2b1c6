"""What a node answers for the clients it was given, checked before it is believed."""

import json
import math
from collections.abc import Sequence
from typing import Any

from flwr.app import Message

from flockwise.engine import ClientWork
from flockwise.errors import InputError
from flockwise.flower.records import as_score, read_array, read_report
from flockwise.messages import Reply, Task

MALFORMED = (
    InputError, KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, RecursionError,
)  # fmt: skip
Scored = tuple[int, int, list[list[float]]]  # client, samples; score, loss and other metrics of each model


def results_of(message: Message, share: Sequence[Task], others: int = 0) -> dict[int, Any]:
    """A node's results by client, for those it was asked about; the first of each counts."""
    text = str(message.content["results"]["results"])
    most = 1000 + sum(200 + (100 + 25 * others) * len(task.models) for task in share)
    if len(text) > most:
        raise InputError(f"its results take {len(text)} characters; at most {most} are read")
    asked = {task.client for task in share}
    return {result[0]: result for result in reversed(json.loads(text)) if result[0] in asked}


def read_reply(work: ClientWork, round: int, result: Any, message: Message) -> Reply:
    """One client's training."""
    client, samples, chosen, loss = result
    for value in (client, samples, chosen):
        _whole(value)
    records = message.content.array_records
    update = read_array(records["arrays"][str(client)], (work.travel.size,), str(client))
    report = {}
    if work.report is not None:
        told = records["report"]
        keys = {name: f"{client}/{name}" for name in work.report.shapes}
        report = read_report({name: told[key] for name, key in keys.items() if key in told}, work.report)
    shard = work.federation.shards[client]
    return Reply(
        client, round, update, samples, chosen, math.nan if loss is None else float(loss), shard.address,
        shard.hour, shard.user, report,
    )  # fmt: skip


def read_scores(work: ClientWork, result: Any) -> Scored:
    """One client's scores."""
    client, samples, scores = result
    _whole(client)
    _whole(samples)
    return client, samples, [_scored(work, told) for told in scores]


def _scored(work: ClientWork, told: Any) -> list[float]:
    score, *rest = told
    if len(rest) + 1 != work.columns:
        raise InputError(f"{len(rest) + 1} numbers for a model: must be {work.columns}")
    return [
        as_score(score, work.task.scoring),
        *(math.nan if value is None else float(value) for value in rest),
    ]


def _whole(value: object) -> None:
    if type(value) is not int or abs(value) >= 1 << 62:
        raise InputError("client, samples and choice must be whole numbers")
