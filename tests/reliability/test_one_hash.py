"""One hash a seed: whatever the workers, threads, and the order in which Python's sets and texts happen to lie."""

import json
import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

import flockwise
from flockwise.rng import generator
from tests.conftest import Cases
from tests.runs.small import FLIC, fingerprint

GRID = list(product(("0", "1", "12345", "random"), range(1, 9), ("1", "2", "4")))
STRATEGIES = {
    "flic": FLIC["strategy"],
    "shepherd": {"name": "shepherd"},
    "communities": {"name": "communities"},
    "ifca": {"name": "ifca", "flocks": 2},
}


def hashes(folder: Path, workers: int) -> dict[str, str]:
    """A small run of each strategy, and what came out."""
    found = {}
    for name, strategy in STRATEGIES.items():
        config = {**FLIC, "rounds": 5, "strategy": strategy, "engine": {"workers": workers}}
        flockwise.run(config, out=folder / name)
        found[name] = fingerprint(folder / name)
    return found


def _elsewhere(folder: Path, seed: str, workers: int, threads: str) -> dict[str, str]:
    """The same in a process of its own, with this hash seed, so many workers and threads."""
    names = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), threads)
    told = subprocess.run(
        [sys.executable, "-m", __name__, str(folder), str(workers)], check=True, stdout=subprocess.PIPE, text=True,
        cwd=Path(__file__).parents[2],
        env={**os.environ, **names, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
    ).stdout  # fmt: skip
    found: dict[str, str] = json.loads(told.splitlines()[-1])
    return found


@pytest.mark.slow
def test_one_hash_for_any_hash_seed_workers_and_threads(tmp_path: Path, cases: Cases) -> None:
    drawn = generator(0, "surroundings").permutation(len(GRID)).tolist()
    places = cases.many(2 * len(STRATEGIES), len(GRID) * len(STRATEGIES)) // len(STRATEGIES)
    found = {GRID[number]: _elsewhere(tmp_path / str(number), *GRID[number]) for number in drawn[:places]}
    for name in STRATEGIES:
        assert len({each[name] for each in found.values()}) == 1, (name, found)


if __name__ == "__main__":
    print(json.dumps(hashes(Path(sys.argv[1]), int(sys.argv[2]))))
