"""A model's own options come from its signature, in configs as elsewhere."""

from pathlib import Path

import pytest

import flockwise
from flockwise.config import parse_config
from flockwise.errors import ConfigError

OWN = '''
from typing import Annotated
from torch import nn
from flockwise.options import Count

def narrow(input_shape, classes, width: Annotated[Count, "of the hidden layer"] = 4):
    """A small perceptron."""
    channels, height, across = input_shape
    return nn.Sequential(nn.Flatten(), nn.Linear(channels * height * across, width), nn.ReLU(), nn.Linear(width, classes))
'''


def test_they_are_filled_in_checked_and_used(tmp_path: Path) -> None:
    assert parse_config({"model": {"name": "mlp"}}).written()["model"] == {
        "name": "mlp", "trains": ["*"], "travels": ["*"], "hidden": 200,
    }  # fmt: skip
    run = flockwise.run(
        {"rounds": 1, "split": {"clients": 3}, "model": {"name": "mlp", "hidden": 7}}, out=tmp_path / "r"
    )
    assert run.model()[1].out_features == 7
    with pytest.raises(ConfigError, match=r"model\.hidden = 0: must be at least 1"):
        parse_config({"model": {"name": "mlp", "hidden": 0}})
    with pytest.raises(ConfigError, match=r"model\.hiden = 3: unknown key; did you mean 'hidden'"):
        parse_config({"model": {"name": "mlp", "hiden": 3}})


def test_those_of_a_users_own_model_too(tmp_path: Path) -> None:
    (tmp_path / "narrows.py").write_text(OWN)
    (tmp_path / "c.toml").write_text(
        "rounds = 1\nsplit = {clients = 3}\nmodel = {name = 'narrows:narrow', width = 3}"
    )
    run = flockwise.run(tmp_path / "c.toml", out=tmp_path / "run")
    assert run.config["model"]["width"] == 3 and run.model()[1].out_features == 3
