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

from flockwise.engine.workbench import Workbench, one_thread

_BENCHES: dict[str, Workbench] = {}  # kept between messages where the process lives on (simulation)


def worker_app(config: str | None = None, directory: str | None = None, data: str | None = None) -> ClientApp:
    """The ClientApp; in a deployment config and folders come with the run and the node instead."""
    app = ClientApp()

    @app.train()
    def train(message: Message, context: Context) -> Message:
        return _work(message, context, config, directory, data)

    @app.evaluate()
    def evaluate(message: Message, context: Context) -> Message:
        return _work(message, context, config, directory, data)

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


def _work(
    message: Message, context: Context, config: str | None, directory: str | None, data: str | None
) -> Message:
    text = config or str(context.run_config["flockwise-config"])
    folder = directory or str(context.node_config.get("directory", "."))
    place = data or context.node_config.get("data") or os.environ.get("FLOCKWISE_DATA")
    bench = _bench(text, Path(folder), Path(str(place)) if place else None)
    asked = message.content.config_records["config"]
    models = message.content.array_records["arrays"]["models"].numpy()
    round, jobs = int(asked["round"]), json.loads(str(asked["jobs"]))  # type: ignore[arg-type]
    if asked["kind"] == "train":
        return _trained(message, bench, round, jobs, models)
    part = "validation" if asked["kind"] == "validate" else "test"
    scores = []
    for job in jobs:
        marks = [bench.score(job["client"], part, round, models[row]) for row in job["rows"]]
        samples = len(bench.data(job["client"], part, round)[1])
        scores.append([job["client"], samples, [[_plain(m) for m in mark] for mark in marks]])
    return _answer(message, {}, scores, sum(score[1] for score in scores))


def _trained(message: Message, bench: Workbench, round: int, jobs: list[Any], models: np.ndarray) -> Message:
    arrays, reports = {}, []
    for job in jobs:
        candidates = models[job["rows"]]
        result = bench.train(job["client"], round, candidates)
        if result is None:
            continue
        trained, chosen, loss = result
        arrays[str(job["client"])] = Array(trained - candidates[chosen])
        samples = len(bench.data(job["client"], "train", round)[1])
        reports.append([job["client"], samples, chosen, _plain(loss)])
    return _answer(message, arrays, reports, sum(report[1] for report in reports))


def _answer(message: Message, arrays: dict[str, Array], reports: list[Any], samples: int) -> Message:
    content = RecordDict({
        "arrays": ArrayRecord(arrays), "reports": ConfigRecord({"reports": json.dumps(reports)}),
        "metrics": MetricRecord({"num-examples": samples}),
    })  # fmt: skip
    return Message(content, reply_to=message)


def _bench(text: str, directory: Path, data: Path | None) -> Workbench:
    key = hashlib.sha256("\n".join([text, str(directory), str(data)]).encode()).hexdigest()
    if key not in _BENCHES:
        from flockwise.config import parse_config
        from flockwise.runs.assembly import make_workbench

        one_thread()
        _BENCHES.clear()
        _BENCHES[key] = make_workbench(parse_config(json.loads(text), directory=directory), directory, data)
    return _BENCHES[key]


def _plain(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
