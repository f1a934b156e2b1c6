"""A user's own piece that cannot be imported, put together or called is one line with its file, and one row of a study."""

from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner

import flockwise as fw
from flockwise import stages as do
from flockwise.cli.app import app
from flockwise.errors import FlockwiseError, PluginError
from flockwise.studies import Study

PIECES = """import flockwise as fw
from flockwise import stages as do


def raising(updates):
    return updates[10**6]


@fw.strategy("cannot be put together")
def strategy() -> fw.Method:
    raise ValueError("my own words")


def plain_strategy():
    return 5


def no_arguments():
    return 3


def not_a_model(input_shape, classes):
    return 3


def not_a_split(dataset, clients, seed, validation):
    return 3


def raising_data():
    return {}["nothing"]


def raising_attack():
    raise KeyError("nothing")


def not_an_attack():
    return 5


NUMBER = 5


def one_argument(input_shape):
    return 3
"""


def mistake(folder: Path, *settings: str) -> str:
    (folder / "mistakes.py").write_text(PIECES)
    (folder / "syntax.py").write_text("x = 1\ndef broken(:\n")
    (folder / "division.py").write_text("x = 1\n1 / 0\n")
    (folder / "missing.py").write_text("import not_there_at_all\n")
    (folder / "exits.py").write_text("raise SystemExit(0)\n")
    (folder / "my.toml").write_text('rounds = 1\nsplit.clients = 4\nmodel.name = "softmax"\n')
    words = [part for setting in settings for part in ("--set", setting)]
    done = CliRunner().invoke(app, ["run", str(folder / "my.toml"), "--out", str(folder / "run"), *words])
    assert isinstance(done.exception, FlockwiseError), done.exception
    (line,) = str(done.exception).splitlines()
    return line


@pytest.mark.parametrize(
    ("setting", "told", "place"),
    [
        ("aggregation.name=mistakes:raising", "raised IndexError: index 1000000", "mistakes.py:6"),
        ("strategy.name=mistakes:strategy", "raised ValueError: my own words", "mistakes.py:11"),
        ("strategy.name=mistakes:plain_strategy", "returned int, must be a Method", ""),
        ("strategy.name=mistakes:NUMBER", "strategy.name", ""),
        ("model.name=mistakes:one_argument", "takes 1 positional argument but 2 were given", "mistakes.py:45"),
        ("model.name=mistakes:not_a_model", "made a int, not a torch.nn.Module", ""),
        ("split.name=mistakes:not_a_split", "made a int, not a flockwise.Federation", ""),
        ("split.name=mistakes:no_arguments", "no_arguments() ", "mistakes.py:18"),
        ("split.name=mistakes:NUMBER", "split.name = 'mistakes:NUMBER'", ""),
        ("data.name=mistakes:raising_data", "raised KeyError: 'nothing'", "mistakes.py:31"),
        ("model.name=mistakes:NUMBER", "model.name = 'mistakes:NUMBER'", ""),
        ("model.name=syntax:f", "cannot import 'syntax' for 'syntax:f': SyntaxError: ", "syntax.py:2"),
        ("model.name=division:f", "ZeroDivisionError: division by zero", "division.py:2"),
        ("model.name=missing:f", "ModuleNotFoundError: No module named 'not_there_at_all'", "missing.py:1"),
        ("model.name=exits:f", "SystemExit", "exits.py:1"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_a_line_that_names_the_file(tmp_path, setting, told, place):
    line = mistake(tmp_path, setting)
    assert told in line and setting.partition("=")[0] in line
    assert str(tmp_path.resolve() / place) in line if place else line.count(setting.partition("=")[0]) == 1


@pytest.mark.parametrize(
    ("attack", "told"), [("raising_attack", "raised KeyError"), ("not_an_attack", "made a int")]
)
def test_an_attack_that_cannot_be_made_is_a_line(tmp_path, attack, told):
    assert told in mistake(tmp_path, f"attack.name=mistakes:{attack}", "attack.clients=1")


def rule(updates: np.ndarray) -> np.ndarray:
    """A rule of one's own, handed over as it is."""
    return updates.mean(axis=0)


@pytest.mark.parametrize("averaged", [rule, fw.aggregation.median, fw.median()])
def test_average_takes_whatever_is_a_rule(tmp_path, averaged):
    rng = np.random.default_rng(0)
    clients = fw.Federation.from_arrays([(rng.normal(size=(20, 3)), np.arange(20) % 2) for _ in range(4)])
    method = fw.Method(do.chain(do.train(do.sample), do.average(averaged)))
    assert fw.run(method, clients, model=torch.nn.Linear(3, 2), rounds=1, out=tmp_path / "run").rounds == [1]


def test_average_says_what_it_takes():
    with pytest.raises(FlockwiseError, match="rule = 5: must be a rule"):
        do.average(5)


def test_a_row_that_cannot_be_put_together_fails_alone(tmp_path):
    (tmp_path / "mistakes.py").write_text(PIECES)
    (tmp_path / "small.toml").write_text(
        'base = { rounds = 1, split.clients = 4, model.name = "softmax" }\n[vary.method]\nFedAvg = {}\n'
        'broken = { strategy.name = "mistakes:strategy" }\nworse = { model.name = "mistakes:one_argument" }\n'
    )
    words = ["study", str(tmp_path / "small.toml"), "--out", str(tmp_path / "out"), "--jobs", "1"]
    tried = CliRunner().invoke(app, [*words, "--dry-run"])
    assert tried.exit_code == 0 and "cannot run: broken: " in tried.output
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 1 and isinstance(done.exception, SystemExit), done.exception
    found = Study(tmp_path / "small.toml", out=tmp_path / "out")
    assert [result.cell for result in found.results] == ["FedAvg"]
    told = {cell: error for (_, cell, _), error in found.failed.items()}
    assert "my own words" in told["broken"] and "mistakes.py:45" in told["worse"]


def test_a_module_is_looked_for_again_once_it_is_mended(tmp_path):
    (tmp_path / "mended.py").write_text("1 / 0\n")
    with pytest.raises(PluginError, match="ZeroDivisionError"):
        fw.plugins.find("models", "mended:f", {}, tmp_path)
    (tmp_path / "mended.py").write_text("f = 'found'\n")
    assert fw.plugins.find("models", "mended:f", {}, tmp_path) == "found"
