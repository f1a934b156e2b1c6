"""What a run is put together from."""

from pathlib import Path

import numpy as np
from torch import nn

import flockwise
from flockwise.models import Layout
from flockwise.models.travel import Travel
from tests.runs.small import FLIC


def test_weight_and_bias_are_one_layer_and_statistics_of_normalisation_each_one() -> None:
    module = nn.Sequential(nn.Conv2d(1, 2, 1), nn.BatchNorm2d(2), nn.Flatten(), nn.Linear(2, 3))
    # convolution: 2 + 2; normalisation: 2 + 2, then mean and variance; linear: 6 + 3
    assert Travel.of(Layout.of(module)).layers == ((0, 4), (4, 8), (8, 10), (10, 12), (12, 21))


def test_a_run_with_adam_learns_and_gives_the_same_bits_for_any_number_of_workers(tmp_path: Path) -> None:
    config = {
        **FLIC, "strategy": {"name": "fedavg"}, "split": {"name": "iid", "clients": 8},
        "training": {"epochs": 3, "learning_rate": 0.01, "optimizer": "adam"},
    }  # fmt: skip
    one, two = (
        flockwise.run({**config, "engine": {"workers": workers}}, out=tmp_path / str(workers))
        for workers in (1, 2)
    )
    assert one.facts["accuracy"][-1] > 0.8
    np.testing.assert_array_equal(one.checkpoint()["models"], two.checkpoint()["models"])
