"""How often models are tested where nobody says."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flockwise as fw
from flockwise.config import parse_config
from flockwise.runs.evaluating import FEWEST, SHARE, rounds_between
from flockwise.runs.federating import make_work

SMALL: dict[str, Any] = {
    "split": {"clients": 40, "validation": 0},
    "sampling": {"fraction": 0.05},
    "rounds": 60,
}


def every(rounds: int, **changes: Any) -> int:
    config = parse_config({**SMALL, **changes})
    return rounds_between(
        config.evaluation.every, make_work(config, None, None), config.sampling.fraction, rounds
    )


def test_a_number_is_taken_as_it_is() -> None:
    assert every(1000, evaluation={"every": 7}) == 7


def test_testing_takes_a_tenth_of_training() -> None:
    found = every(10**6)
    config = parse_config(SMALL)
    federation = make_work(config, None, None).federation
    tested, trained = federation.sizes("test").sum(), 3 * 2 * federation.sizes("train").mean()
    assert found > 1
    assert tested / found <= SHARE * trained < tested / (found - 1)


@pytest.mark.parametrize("rounds", [1, 19, 20, 60, 400])
def test_a_run_has_a_curve_all_the_same(rounds: int) -> None:
    assert rounds // every(rounds) >= min(rounds, FEWEST)


def test_where_all_clients_train_every_round_is_tested() -> None:
    assert every(10**6, sampling={"fraction": 1.0}, training={"epochs": 5}) == 1


def test_rounds_that_change_every_model_are_tested(tmp_path: Path) -> None:
    clients = fw.splits.label_swap(fw.data.digits(), clients=40, groups=2, seed=1)
    run = fw.run(
        fw.flic(warmup=11),
        clients,
        training=fw.SGD(epochs=2, learning_rate=0.1),
        rounds=60,
        sampling={"fraction": 0.1},
        out=tmp_path / "run",
    )
    tested = np.asarray(run.rounds)[np.isfinite(run.facts["accuracy"])].tolist()
    found = next(event.round for event in run.events if event.kind == "flocks")
    between = [b - a for a, b in itertools.pairwise(tested)]
    assert tested[0] == 1 and tested[-1] == 60
    assert found in tested and max(between) > 1
