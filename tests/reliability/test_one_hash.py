"""One hash a seed: whatever the workers, threads, and the order in which Python's sets and texts happen to lie."""

import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
import tomli_w

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


def _hash(folder: Path, strategy: str, seed: str, workers: int, threads: str) -> str:
    folder.mkdir()
    config = {**FLIC, "rounds": 5, "strategy": STRATEGIES[strategy], "engine": {"workers": workers}}
    (folder / "c.toml").write_text(tomli_w.dumps(config))
    names = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), threads)
    subprocess.run(
        [sys.executable, "-m", "flockwise", "run", "c.toml", "--out", "run", "-q"], cwd=folder, check=True,
        env={**os.environ, **names, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    return fingerprint(folder / "run")


@pytest.mark.slow
@pytest.mark.parametrize("strategy", list(STRATEGIES))
def test_one_hash_for_any_hash_seed_workers_and_threads(strategy: str, tmp_path: Path, cases: Cases) -> None:
    drawn = generator(0, f"surroundings {strategy}").permutation(len(GRID)).tolist()
    found = {
        GRID[number]: _hash(tmp_path / str(number), strategy, *GRID[number])
        for number in drawn[: cases.many(2, len(GRID))]
    }
    assert len(set(found.values())) == 1, found
