"""Tasks, schedules and models of which a part trains, on Flower's nodes: the same bits as the local engine."""

import numpy as np
import pytest
import torch

pytest.importorskip("flwr", reason="needs flockwise[flower]")

import flockwise
from flockwise.data import Dataset
from flockwise.errors import ConfigError
from flockwise.flower import FlowerGrid
from flockwise.flower.worker_answers import MALFORMED, read_scores
from tests.flower.test_engine import BASE, fast_clock, on_flower  # noqa: F401  the clock is a fixture


def numbers():
    """Numbers to predict, from eight others."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 8)).astype(np.float32)
    y = (x @ rng.normal(size=8) + 0.1 * rng.normal(size=300)).astype(np.float32)
    return Dataset("numbers", x, y, 240, 1.0, 0)


REGRESSION = {
    **BASE,
    "data": {"name": f"{__name__}:numbers"},
    "split": {"name": "iid", "clients": 5, "validation": 0.2},
    "task": {"name": "regression"},
    "training": {"learning_rate": 0.05, "schedule": "cosine", "optimizer": "adamw", "clip": 1.0},
    "strategy": {"name": "flic", "warmup": 2, "judge": "validation"},
    "sampling": {"fraction": 1.0},
}


def _same(one, other, score):
    np.testing.assert_array_equal(one.checkpoint()["models"], other.checkpoint()["models"])
    assert one.scoring == other.scoring and one.scoring.name == score
    for fact in (score, f"{score}_worst", "learning_rate"):
        if fact in one.facts or fact in other.facts:
            np.testing.assert_array_equal(one.facts[fact], other.facts[fact])


def test_errors_and_rates_that_fall_are_the_same_as_on_the_local_engine(tmp_path):
    local = flockwise.run(REGRESSION, out=tmp_path / "local")
    remote = on_flower(REGRESSION, tmp_path / "flower")
    _same(local, remote, "mae")
    np.testing.assert_array_equal(local.facts["rmse"], remote.facts["rmse"])
    assert local.facts["mae"][-1] < local.facts["mae"][0]


def test_a_model_of_which_a_part_trains_needs_no_memory_of_nodes(tmp_path):
    config = {**BASE, "model": {"name": "mlp", "hidden": 16, "trains": ["5.*"]}}
    local, remote = flockwise.run(config, out=tmp_path / "local"), on_flower(config, tmp_path / "flower")
    _same(local, remote, "accuracy")
    assert local.checkpoint()["models"].shape[1] == 170
    ours, theirs = (run.model().state_dict() for run in (local, remote))
    assert all((ours[name] == theirs[name]).all() for name in ours)


def test_what_only_python_can_make_is_refused_by_name(tmp_path):
    recipe = flockwise.Optimizer(lambda parameters: torch.optim.SGD(parameters, lr=0.1))
    clients = flockwise.splits.iid(flockwise.data.digits(), clients=4)
    with pytest.raises(ConfigError, match=r"training\.optimizer = 'own': Flower nodes need it by name"):
        flockwise.run(
            flockwise.fedavg(), clients, model=flockwise.models.softmax, training=recipe, rounds=1,
            out=tmp_path / "run", engine=FlowerGrid(None),
        )  # fmt: skip


def test_hostile_scores_of_nodes_are_not_believed():
    class Work:
        columns, task = 4, flockwise.tasks.regression()

    assert read_scores(Work, [0, 10, [[2.5, 1.0, 3.0, None]]])[2][0][:3] == [2.5, 1.0, 3.0]
    for told in (
        [[-1.0, 1.0, 1.0, 1.0]],
        [[1e40, 1.0, 1.0, 1.0]],
        [[1.0, 1.0]],
        [["x", 1, 1, 1]],
        [[[], 1, 1, 1]],
    ):
        with pytest.raises(MALFORMED):
            read_scores(Work, [0, 10, told])
