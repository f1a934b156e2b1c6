"""One new file in a folder of the package is all it takes to add a piece."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import flockwise

ATTACK = '''
from typing import Annotated

from flockwise.attacks.contract import UpdateAttack, attack
from flockwise.options import Positive


@attack("the honest update, only shorter", kind="update", paper="nobody's", example={"by": 4.0})
def whisper(by: Annotated[Positive, "how many times as short"]) -> UpdateAttack:
    """It costs a little speed."""
    return UpdateAttack(lambda view, rng: view.own / by, frozenset({"own"}))
'''
CLUSTERER = '''
import numpy as np

from flockwise.clustering.contract import Clusterer, clusterer


@clusterer("Clients nearer to each other than a distance are one flock.", takes="distance", example={"reach": 9.0})
class NearEnough(Clusterer):
    """Components of the graph of near clients."""

    def __init__(self, *, reach: float = 1.0) -> None:
        self.reach = reach

    def fit(self, X, y=None):
        near = np.linalg.matrix_power((X <= self.reach).astype(int), len(X)) > 0
        self.labels_ = np.unique(near, axis=0, return_inverse=True)[1].reshape(-1)
        return self
'''
SPLIT = '''
from flockwise.data import Dataset, Federation, Shard
from flockwise.splits.contract import split
from flockwise.splits.uniform import deal_uniformly


@split("two groups of clients that are no different")
def placebo(dataset: Dataset, clients: int = 10, seed: int = 0, validation: float = 0.1) -> Federation:
    """For seeing what is found where there is nothing."""
    dealt = deal_uniformly(dataset, clients, seed, "equal", None, validation, None)
    return Federation(dataset, tuple(Shard(*parts, group=n % 2) for n, parts in enumerate(dealt)))
'''
MODEL = '''
from torch import nn

from flockwise.models.contract import model


@model("one number for each class, whatever the image")
def constant(input_shape, classes):
    """The least there is to learn."""
    return nn.Sequential(nn.Flatten(), nn.Linear(input_shape[0] * input_shape[1] * input_shape[2], classes))
'''
SIMILARITY = '''
import numpy as np

from flockwise.similarity.measure import similarity


@similarity("the largest difference in any coordinate", kind="distance")
def largest_gap(rows: np.ndarray) -> np.ndarray:
    """Chebyshev's distance."""
    return np.abs(rows[:, None] - rows[None]).max(axis=2).astype(np.float64)
'''
RULE = '''
from typing import Annotated

import numpy as np
from pydantic import Field

from flockwise.aggregation.rule import rule
from flockwise.kernels.checks import as_updates


@rule("halfway between the least and the most", example={"low": 0.5})
def midrange(updates: np.ndarray, low: Annotated[float, Field(ge=0, le=1), "share of the least"] = 0.5) -> np.ndarray:
    """Of every coordinate."""
    rows = as_updates(updates).astype(np.float64)
    return (low * rows.min(axis=0) + (1 - low) * rows.max(axis=0)).astype(np.float32)
'''
STRATEGY = '''"""FedAvg under another name, which assumes nothing."""

from flockwise.stages import Method, average, chain, train
from flockwise.strategies.strategy import MEAN, strategy


@strategy("a strategy that came as one file")
def brand_new(*, pace: int = 3) -> Method:
    """FedAvg."""
    return Method(chain(train(), average(MEAN)))
'''
FILES = {
    "aggregation/midrange.py": RULE, "attacks/whisper.py": ATTACK, "clustering/near_enough.py": CLUSTERER,
    "models/constant.py": MODEL, "similarity/largest_gap.py": SIMILARITY, "splits/placebo.py": SPLIT,
    "strategies/brand_new.py": STRATEGY,
}  # fmt: skip
BATTERIES = """
import inspect

from flockwise.testing import AggregatorBattery, AttackBattery, ClustererBattery, SimilarityBattery, SplitBattery

NEW = ("whisper", "near_enough", "placebo", "largest_gap", "midrange")
kinds = (AggregatorBattery, AttackBattery, ClustererBattery, SimilarityBattery, SplitBattery)
for battery in [battery for kind in kinds for battery in kind.each()]:
    for name in dir(battery):
        if name.startswith("test_") and battery.__name__.endswith(NEW):
            if len(inspect.signature(getattr(battery, name)).parameters) == 1:  # pytest gives the others their values
                getattr(battery(), name)()
            print(battery.__name__, name)
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with one new file of each kind, and nothing else changed."""
    root = tmp_path_factory.mktemp("copy")
    source = Path(flockwise.__file__).parent
    shutil.copytree(source, root / "flockwise", ignore=shutil.ignore_patterns("__pycache__"))
    for place, text in FILES.items():
        (root / "flockwise" / place).write_text(text)
    return root


def python(package: Path, *arguments: str, given: str = "") -> str:
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, cwd=package, input=given,
        env={**os.environ, "PYTHONPATH": str(package)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("kind", "name", "summary"),
    [
        ("attacks", "whisper", "the honest update, only shorter"),
        ("clusterers", "near-enough", "Clients nearer to each other than a distance are one flock."),
        ("splits", "placebo", "two groups of clients that are no different"),
        ("models", "constant", "one number for each class, whatever the image"),
        ("similarities", "largest-gap", "the largest difference in any coordinate"),
        ("aggregators", "midrange", "halfway between the least and the most"),
        ("strategies", "brand-new", "a strategy that came as one file"),
    ],
)
def test_it_is_listed(package: Path, kind: str, name: str, summary: str) -> None:
    assert json.loads(python(package, "-m", "flockwise", "list", kind, "--json"))[name] == summary
    assert f"{name}: {summary}" in python(package, "-m", "flockwise", "list", kind, name)


def test_its_page_shows_paper_text_and_options(package: Path) -> None:
    page = python(package, "-m", "flockwise", "list", "attacks", "whisper")
    assert "paper: nobody's" in page and "It costs a little speed." in page
    assert "by      number, above 0  needed   how many times as short" in page


def test_it_can_be_called_like_the_others(package: Path) -> None:
    code = """
import flockwise.attacks, flockwise.clustering, flockwise.splits, flockwise.models, flockwise.data
print(flockwise.attacks.whisper(by=2, clients=3).section())
print(flockwise.clustering.NearEnough(reach=2.0))
print(flockwise.splits.placebo(flockwise.data.digits(), clients=4).origin["split"])
print(flockwise.models.constant((1, 2, 2), 2)[1])
"""
    assert python(package, "-c", code).splitlines() == [
        "{'name': 'whisper', 'clients': 3, 'first_round': 1, 'by': 2.0}",
        "NearEnough(reach=2.0)",
        "{'name': 'placebo', 'clients': 4, 'seed': 0, 'validation': 0.1}",
        "Linear(in_features=4, out_features=2, bias=True)",
    ]


def test_it_is_tested_by_the_shipped_batteries(package: Path) -> None:
    told = python(package, "-c", BATTERIES)
    for battery in (
        "AttackBattery_whisper", "ClustererBattery_near_enough", "SplitBattery_placebo",
        "SimilarityBattery_largest_gap", "AggregatorBattery_midrange",
    ):  # fmt: skip
        assert told.count(battery) >= 3


SCHEMA = """
import json, sys
from jsonschema import Draft202012Validator
from flockwise.config import parse_config, schema

known = Draft202012Validator(schema())
for content in json.load(sys.stdin):
    print(json.dumps([known.is_valid(content), known.is_valid(parse_config(content).written())]))
"""
GOOD = [
    {"attack": {"name": "whisper", "by": 2.0, "clients": 2}}, {"split": {"name": "placebo", "clients": 5}},
    {"model": {"name": "constant"}}, {"aggregation": {"name": "midrange", "low": 0.1}},
    {"strategy": {"name": "brand-new", "pace": 4}}, {"strategy": {"name": "custom", "similarity": "largest-gap"}},
    {"strategy": {"name": "custom", "clustering": "near-enough", "clustering_parameters": {"reach": 2.0}}},
    {"strategy": {"name": "fedper", "flocks": {"name": "brand-new", "pace": 2}}, "model": {"name": "mlp"}},
]  # fmt: skip
BAD = [
    {"attack": {"name": "whisper", "by": -2.0, "clients": 2}}, {"split": {"name": "placebo", "kinds": 5}},
    {"model": {"name": "constant", "wide": 3}}, {"aggregation": {"name": "midrange", "low": 7.0}},
    {"strategy": {"name": "brand-new", "pace": "slow"}},
    {"strategy": {"name": "custom", "clustering": "near-enough", "clustering_parameters": {"rich": 2.0}}},
    {"strategy": {"name": "fedper", "flocks": {"name": "brand-new", "warmup": 2}}},
]  # fmt: skip


def test_the_schema_knows_it_and_its_options(package: Path) -> None:
    told = python(package, "-c", SCHEMA, given=json.dumps(GOOD)).split("\n")[:-1]
    assert [json.loads(line) for line in told] == [[True, True]] * len(GOOD)
    only = SCHEMA.replace(", known.is_valid(parse_config(content).written())", "")
    told = python(package, "-c", only, given=json.dumps(BAD)).split("\n")[:-1]
    assert [json.loads(line) for line in told] == [[False]] * len(BAD)


def test_it_is_a_name_of_its_package_for_tab_completion(package: Path) -> None:
    parts = ("models", "similarity", "aggregation", "strategies")
    told = python(
        package, "-c", f"import flockwise as fw; print({', '.join(f'fw.{part}.__all__' for part in parts)})"
    )
    assert all(f"'{name}'" in told for name in ("constant", "largest_gap", "midrange", "brand_new"))
