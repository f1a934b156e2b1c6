"""One new file is all it takes to add an aggregation rule, or a strategy: listed, in the schema, in configs, tested."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import flockwise

RULE = '''
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from flockwise.aggregation.rule import majority, rule
from flockwise.kernels.checks import as_updates, refuse_not_finite
from flockwise.types import Vector

Quantile = Annotated[float, Field(gt=0, lt=1), "which share of clients lies below"]


@rule("mean of a low and a high quantile of every coordinate", tolerates="f < K / 4", minimum=majority, bounded=True)
def midquantile(updates: Any, low: Quantile = 0.25) -> Vector:
    """Half-way between two quantiles."""
    rows = as_updates(updates)
    refuse_not_finite(rows, "updates")
    return np.quantile(rows.astype(np.float64), [low, 1 - low], axis=0).mean(axis=0).astype(np.float32)
'''
STRATEGY = '''
from typing import Annotated

from flockwise.aggregation import Rule
from flockwise.options import Count
from flockwise.stages import Method, average, chain, everyone, train
from flockwise.strategies.strategy import MEAN, strategy


@strategy("everyone trains several times before the round ends", example={"times": 3})
def insistent(*, rule: Rule = MEAN, times: Annotated[Count, "trainings in a round"] = 2) -> Method:
    """FedAvg, several times a round."""
    return Method(chain(*[chain(train(everyone), average(rule))] * times))
'''
SCHEMA = """
import json
from flockwise.config import schema

sections = schema()["$defs"]
for section, name in (("Aggregation", "midquantile"), ("StrategySection", "insistent")):
    (case,) = [case for case in sections[section]["oneOf"] if case["properties"]["name"].get("const") == name]
    print(json.dumps(case["properties"]))
"""
BATTERIES = """
from flockwise.testing import AggregatorBattery, StrategyBattery

tried = [battery for kind in (AggregatorBattery, StrategyBattery) for battery in kind.each()]
for battery in [b for b in tried if b.__name__.endswith(("midquantile", "insistent"))]:
    for name in [name for name in dir(battery) if name.startswith("test_")]:
        function = getattr(battery(), name)
        values = [mark.args[1] for mark in getattr(function, "pytestmark", []) if mark.name == "parametrize"]
        for value in values[0] if values else [None]:
            function(value) if values else function()
        print(battery.__name__, name)
"""
RUN = """
from pathlib import Path
import flockwise as fw
from flockwise.config import parse_config

assert fw.aggregation.midquantile([[1.0], [2.0], [9.0]]).shape == (1,)
config = {"rounds": 2, "split": {"clients": 4}, "aggregation": {"name": "midquantile", "low": 0.4}, "engine": {"workers": 1}}
print(parse_config(config).written()["aggregation"])
run = fw.run({**config, "strategy": {"name": "insistent"}}, out=Path("run"))
print(run.state, run.config["strategy"])
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with two new files, and nothing else changed."""
    root = tmp_path_factory.mktemp("copy")
    source = Path(flockwise.__file__).parent
    shutil.copytree(source, root / "flockwise", ignore=shutil.ignore_patterns("__pycache__"))
    (root / "flockwise" / "aggregation" / "midquantile.py").write_text(RULE)
    (root / "flockwise" / "strategies" / "insistent.py").write_text(STRATEGY)
    return root


def python(package: Path, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(package)}
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, cwd=package, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("kind", "name", "summary"),
    [
        ("aggregators", "midquantile", "mean of a low and a high quantile of every coordinate"),
        ("strategies", "insistent", "everyone trains several times before the round ends"),
    ],
)
def test_it_is_listed(package: Path, kind: str, name: str, summary: str) -> None:
    assert json.loads(python(package, "-m", "flockwise", "list", kind, "--json"))[name] == summary
    assert f"{name}: {summary}" in python(package, "-m", "flockwise", "list", kind, name)


def test_its_options_are_in_the_schema(package: Path) -> None:
    rule, strategy = map(json.loads, python(package, "-c", SCHEMA).splitlines())
    assert rule["low"]["default"] == 0.25 and rule["low"]["exclusiveMaximum"] == 1
    assert rule["low"]["description"] == "which share of clients lies below"
    assert strategy["times"]["default"] == 2 and strategy["times"]["minimum"] == 1


def test_it_passes_the_shipped_batteries(package: Path) -> None:
    told = python(package, "-c", BATTERIES)
    assert told.count("AggregatorBattery_midquantile") >= 15
    assert told.count("StrategyBattery_insistent") >= 6


def test_it_can_be_called_named_and_run(package: Path) -> None:
    section, ended = python(package, "-c", RUN).splitlines()
    assert section == "{'name': 'midquantile', 'attackers': 0.0, 'before': [], 'low': 0.4}"
    assert ended == "finished {'name': 'insistent', 'times': 2}"


def test_it_has_a_template(package: Path) -> None:
    assert "times = 2  # trainings in a round" in python(package, "-m", "flockwise", "new", "insistent")
