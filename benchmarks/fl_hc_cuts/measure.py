"""How good every cut of every dendrogram of FL+HC's Tables IV and V is, beside what was published.

    FLOCKWISE_DATA=... python benchmarks/fl_hc_cuts/measure.py [--table V] [--seed 0] [--scale full]

The paper cuts at "the best performing of a range of thresholds", which it does not name. Here federated averaging runs for
the rounds before clustering, then everybody trains once, as in the paper; that is all the training there is. Each cluster's
model is the mean of what its members sent, tested on the members' own test digits; a cut's accuracy is the mean over
clients. Merging from everyone alone to one cluster for all gives every cut. Statistic, bar (the published "directly after
the clustering step") and cells were written before the first run.

Adds to benchmarks/results/fl_hc_cuts.json, from which page.py beside this file writes docs/papers/fl-hc/cuts.md.
At full a table and seed take about five minutes of one core.
"""

import argparse
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from flockwise.clustering import agglomerative, dendrogram
from flockwise.config import parse_config
from flockwise.messages import Plan, Task
from flockwise.papers import PaperStudy
from flockwise.runs.assembly import Parts, assemble
from flockwise.runs.loop import one_round
from flockwise.similarity import cosine, l1, l2
from flockwise.studies.cells import Cell
from flockwise.studies.surroundings import surroundings

RESULTS = Path(__file__).parents[1] / "results" / "fl_hc_cuts.json"


def cells_of(table: str, scale: str, seed: int) -> list[Cell]:
    """The cells of a table: its distances and linkages."""
    study = PaperStudy("fl-hc", scale=scale, tables=[table], seeds=seed + 1)
    return [cell for cell in study.cells if cell.seed == seed]


def census(cell: Cell) -> tuple[Parts, np.ndarray, np.ndarray]:
    """The parts of a run after the common rounds, its joint model, and everybody's update of it."""
    before = cell.content["strategy"]["rounds_before"]
    content = {**cell.content, "seed": cell.seed, "strategy": {"name": "fedavg"}, "engine": {"workers": 1}}
    parts = assemble(parse_config(content), data=Path(os.environ["FLOCKWISE_DATA"]))
    for _ in range(before):
        one_round(parts.server, parts.engine, parts.hazards)
    joint = parts.server.state.models[:1]
    everyone = tuple(Task(client) for client in range(parts.federation.clients))
    replies = parts.engine.train(Plan(before + 1, "train", joint, everyone))
    return parts, joint[0], replies.updates


class Clusters:
    """The accuracy of clusters' mean models on their members; a cluster of several dendrograms is tested once."""

    def __init__(self, parts: Parts, models: np.ndarray, round: int) -> None:
        self._work, self._models, self._round = parts.work, models, round
        self._known: dict[tuple[int, ...], np.ndarray] = {}

    def accuracy(self, members: tuple[int, ...]) -> np.ndarray:
        """A number for each member."""
        if members not in self._known:
            mean = self._models[list(members)].mean(axis=0, dtype=np.float64).astype(np.float32)
            self._known[members] = self._work.score_many(list(members), self._round, mean)[:, 0]
        return self._known[members]


def every_cut(merges: np.ndarray, clusters: Clusters, clients: int) -> Iterator[tuple[int, float]]:
    """The number of clusters and the mean accuracy, from everyone alone to all together."""
    members = {client: (client,) for client in range(clients)}
    accuracy = np.concatenate([clusters.accuracy(alone) for alone in members.values()])
    yield clients, float(accuracy.mean())
    for step, (left, right, *_) in enumerate(merges):
        joined = tuple(sorted(members.pop(int(left)) + members.pop(int(right))))
        members[clients + step] = joined
        accuracy[list(joined)] = clusters.accuracy(joined)
        yield len(members), float(accuracy.mean())


def measured(table: str, scale: str, seed: int) -> dict[str, Any]:
    """Every cut of every dendrogram of a table, and where the automatic one lies."""
    start, cells = time.process_time(), cells_of(table, scale, seed)
    parts, joint, updates = census(cells[0])
    squares = {"l1": l1(updates), "l2": l2(updates), "cosine": np.maximum(1.0 - cosine(updates), 0.0)}
    updates += joint
    clusters = Clusters(parts, updates, cells[0].content["strategy"]["rounds_before"] + 1)
    found: dict[str, Any] = {}
    for cell in cells:
        square, linkage = squares[cell.labels["metric"]], cell.content["strategy"]["linkage"]
        cuts = dict(every_cut(dendrogram(square, linkage), clusters, len(square)))
        labels = agglomerative(square, linkage, "auto")
        auto = [
            clusters.accuracy(tuple(np.flatnonzero(labels == flock).tolist())) for flock in np.unique(labels)
        ]
        found[cell.name] = {
            "flocks": list(cuts), "accuracy": [round(100 * value, 3) for value in cuts.values()],
            "auto": [len(auto), round(100 * float(np.concatenate(auto).mean()), 3)],
        }  # fmt: skip
        print(f"{table}, seed {seed}, {cell.name}: done", flush=True)
    seconds = round(time.process_time() - start, 1)
    return {
        "table": table,
        "scale": scale,
        "seed": seed,
        "cells": found,
        "cpu_seconds": seconds,
        **surroundings(1),
    }


def main() -> None:
    """Measure a table and add it to the results; the same table, scale and seed at another commit is another entry."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--table", choices=["IV", "V"], default="V")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scale", default="full")
    parser.add_argument("--json", type=Path, default=RESULTS)
    asked = parser.parse_args()
    entry = measured(asked.table, asked.scale, asked.seed)
    entries = json.loads(asked.json.read_text()) if asked.json.exists() else []
    asked.json.write_text(json.dumps([*entries, entry], indent=1) + "\n")


if __name__ == "__main__":
    main()
