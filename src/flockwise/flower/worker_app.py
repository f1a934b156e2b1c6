"""Our own ClientApp: a node that does the work of any client of a config, as the local engine does."""

import hashlib
import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Message, MessageType, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from flockwise.engine.client_work import ClientWork, one_thread

_KNOWN: dict[str, ClientWork] = {}  # kept between messages where the process lives on (simulation)


def worker_app(config: str | None = None, directory: str | None = None, data: str | None = None) -> ClientApp:
    """The ClientApp; in a deployment config and folders come with the run and the node instead."""
    app = ClientApp()

    @app.train()
    def train(message: Message, context: Context) -> Message:
        return _answered(message, context, config, directory, data)

    @app.evaluate()
    def evaluate(message: Message, context: Context) -> Message:
        return _answered(message, context, config, directory, data)

    return app


def jobs_message(
    node: int, round: int, kind: str, jobs: list[dict[str, Any]], models: np.ndarray, ttl: float
) -> Message:
    """A node's share of a plan: what to do for which clients, and the models these need."""
    content = RecordDict({
        "arrays": ArrayRecord({"models": Array(np.ascontiguousarray(models, dtype=np.float32))}),
        "config": ConfigRecord({"kind": kind, "round": round, "jobs": json.dumps(jobs)}),
    })  # fmt: skip
    message_type = MessageType.TRAIN if kind == "train" else MessageType.EVALUATE
    return Message(content, node, message_type, group_id=str(round), ttl=ttl)


def _answered(
    message: Message, context: Context, config: str | None, directory: str | None, data: str | None
) -> Message:
    text = config or str(context.run_config["flockwise-config"])
    folder = directory or str(context.node_config.get("directory", "."))
    place = data or context.node_config.get("data") or os.environ.get("FLOCKWISE_DATA")
    work = _work_of(text, Path(folder), Path(str(place)) if place else None)
    asked = message.content.config_records["config"]
    models = message.content.array_records["arrays"]["models"].numpy()
    round, jobs = int(asked["round"]), json.loads(str(asked["jobs"]))  # type: ignore[arg-type]
    if asked["kind"] == "train":
        return _trained(message, work, round, jobs, models)
    part = "validation" if asked["kind"] == "validate" else "test"
    results = []
    for job in jobs:
        scores = [work.score(job["client"], part, round, model) for model in work.whole(models[job["rows"]])]
        samples = len(work.data(job["client"], part, round)[1])
        results.append([job["client"], samples, [[_plain(value) for value in score] for score in scores]])
    return _answer(message, {}, {}, results)


def _trained(message: Message, work: ClientWork, round: int, jobs: list[Any], models: np.ndarray) -> Message:
    updates: dict[str, Array] = {}
    told: dict[str, Array] = {}
    results = []
    for job in jobs:
        client, candidates = job["client"], models[job["rows"]]
        result = work.train(client, round, work.whole(candidates))
        if result is None:
            continue
        trained, chosen, loss = result
        updates[str(client)] = Array(work.travel.part(trained) - candidates[chosen])
        report = work.told(client, round, candidates[chosen])
        told |= {f"{client}/{name}": Array(np.asarray(array, np.float64)) for name, array in report.items()}
        results.append([client, len(work.data(client, "train", round)[1]), chosen, _plain(loss)])
    return _answer(message, updates, told, results)


def _answer(
    message: Message, updates: dict[str, Array], told: dict[str, Array], results: list[Any]
) -> Message:
    content = RecordDict({
        "arrays": ArrayRecord(updates), "report": ArrayRecord(told),
        "results": ConfigRecord({"results": json.dumps(results)}),
        "metrics": MetricRecord({"num-examples": sum(result[1] for result in results)}),
    })  # fmt: skip
    return Message(content, reply_to=message)


def _work_of(text: str, directory: Path, data: Path | None) -> ClientWork:
    key = hashlib.sha256("\n".join([text, str(directory), str(data)]).encode()).hexdigest()
    if key not in _KNOWN:
        from flockwise.config import parse_config
        from flockwise.runs.remaking import work_of

        one_thread()
        _KNOWN.clear()
        _KNOWN[key] = work_of(parse_config(json.loads(text), directory=directory), directory, data)
    return _KNOWN[key]


def _plain(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
