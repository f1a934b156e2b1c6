"""What courses tell (stages/course.py): the separation that noise reaches, and who points against its own past.

    python benchmarks/defence/courses.py [--seeds 2] [--data DIR]

FedAvg with courses kept and never acted on: everybody trains one epoch in each of 14 rounds, learning rates 0.1 and 0.3,
seeds from 100 on (the leaderboard has 0 to 4). By split: the largest separation of a round; that of what is hidden
in parts of eight clients or more, as a share of what so many need (1: it would be a flock); in how many rounds the method
would have found flocks; how many updates from round 4 on point against their client's course, and how many clearly. All are
honest; an update turned round is seen if the honest one is not. Writes benchmarks/results/courses.json.
"""

import argparse
import json
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import flockwise as fw
from flockwise.clustering import louvain
from flockwise.data.loading import load
from flockwise.similarity import one_plus_cosine
from flockwise.stages import (
    Clustered,
    Every,
    Found,
    Known,
    Method,
    Round,
    Stage,
    all_go_on,
    average,
    chain,
    sample,
    split_flocks,
    stage,
    train,
)
from flockwise.stages.course import PAST, Courses
from flockwise.stages.separation import beyond_noise, separation
from flockwise.strategies.shepherd import FEWEST

OUT = Path(__file__).parents[1] / "results" / "courses.json"
ROUNDS, RATES, FIRST_SEED = 14, (0.1, 0.3), 100
MANY = {"clients": 40, "samples": 200, "test": 100}
SPLITS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "one kind, 40 clients": ("mnist", "iid", MANY),
    "one kind, 20": ("digits", "iid", {"clients": 20}),
    "one kind, 10": ("digits", "iid", {"clients": 10}),
    "Dirichlet 0.1, 40": ("mnist", "dirichlet", {"alpha": 0.1, "sizes": "equal", **MANY}),
    "Dirichlet 0.1, 20": ("digits", "dirichlet", {"alpha": 0.1, "clients": 20}),
    "two labels each, 20": ("digits", "pathological", {"labels": 2, "clients": 20}),
    "FEMNIST by writer, 20": ("femnist", "by_writer", {"samples": 100, "clients": 20}),
    "four kinds, turned, 40": ("mnist", "rotation", {"groups": 4, **MANY}),
    "four kinds, swapped, 40": ("mnist", "label_swap", {"groups": 4, **MANY}),
}


class Noted:
    """Looks for flocks, writes down how far apart they are, and says that there are none."""

    exact = ""
    whole = Clustered(
        one_plus_cosine, lambda graph, seed: louvain(graph, seed=seed), takes="similarity", centred=True
    )
    method = replace(whole, min_separation=beyond_noise, fewest=FEWEST, hidden=True)  # as shepherd has it

    def __init__(self) -> None:
        self.separations: list[float] = []
        self.hidden: list[float] = []
        self.found = 0

    def find(self, known: Known, round: Round) -> Found:
        """One flock, whatever was found."""
        found = self.whole.find(known, round)
        assert found.square is not None
        self.separations.append(float(found.facts.get("separation", 0.0)))
        for part in range(found.flocks):
            members = np.flatnonzero(found.labels == part)
            if len(members) >= FEWEST:
                inner = found.square[np.ix_(members, members)]
                apart = separation(inner, louvain(inner, seed=round.setting.seed), "similarity")
                self.hidden.append(apart / beyond_noise(len(members)))
        self.found += self.method.find(known, round).flocks > 1
        return replace(found, labels=np.zeros_like(found.labels))


def beside_courses(courses: Courses, against: list[float]) -> Stage:
    """Writes down how far each update goes along its client's course so far, in lengths of the course."""

    def run(round: Round) -> Round:
        if round.number > PAST:
            known = courses.known(round)
            rows = round.replies.updates[np.isin(round.replies.clients, known.clients)]
            rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.finfo(np.float32).tiny)
            along = np.einsum("ij,ij->i", rows, known.rows, dtype=np.float64)
            against.extend((along / np.einsum("ij,ij->i", known.rows, known.rows, dtype=np.float64)).tolist())
        return round

    return stage("beside courses", run)


def measured(name: str, rate: float, seed: int, where: Path | None) -> tuple[Noted, list[float]]:
    """One run: what was seen of flocks, and of each update how far along its client's course it goes."""
    data, split, options = SPLITS[name]
    held = fw.data.digits() if data == "digits" else load(data, where)
    clients = getattr(fw.splits, split)(held, validation=0.2, seed=seed, **options)
    courses, noted, against = Courses(), Noted(), list[float]()
    stages = [
        beside_courses(courses, against),
        courses.keep,
        split_flocks(courses, noted, all_go_on, Every(2)),
    ]
    with tempfile.TemporaryDirectory() as folder:
        fw.run(
            Method(chain(train(sample), *stages, average(fw.mean()))), clients, model=partial(fw.models.mlp, hidden=32),
            training=fw.SGD(epochs=1, batch_size=10, learning_rate=rate), rounds=ROUNDS, seed=seed, fraction=1.0,
            out=Path(folder) / "run", evaluation={"every": ROUNDS}, engine=fw.Local(workers=1),
        )  # fmt: skip
    return noted, against


def main() -> None:
    """Measure every split, and write the numbers down."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--data", type=Path)
    given = parser.parse_args()
    found = {}
    for name in SPLITS:
        runs = [
            measured(name, rate, FIRST_SEED + k, given.data) for rate in RATES for k in range(given.seeds)
        ]
        against = [one for _, run in runs for one in run]
        found[name] = {
            "separation": max(max(noted.separations) for noted, _ in runs),
            "hidden": max(max(noted.hidden, default=0.0) for noted, _ in runs),
            "looks": sum(len(noted.separations) for noted, _ in runs),
            "found": sum(noted.found for noted, _ in runs),
            "updates": len(against),
            "against": sum(one < 0 for one in against),
            "clearly": sum(one < -0.5 for one in against),
        }
        print(name, found[name], flush=True)
    OUT.write_text(json.dumps({"seeds": given.seeds, "splits": found}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
