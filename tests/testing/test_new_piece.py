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
BATTERIES = """
from flockwise.testing import AttackBattery, ClustererBattery, SplitBattery

for battery in [*AttackBattery.each(), *ClustererBattery.each(), *SplitBattery.each()]:
    for name in dir(battery):
        if name.startswith("test_") and battery.__name__.endswith(("whisper", "near_enough", "placebo")):
            getattr(battery(), name)()
            print(battery.__name__, name)
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with four new files, and nothing else changed."""
    root = tmp_path_factory.mktemp("copy")
    source = Path(flockwise.__file__).parent
    shutil.copytree(source, root / "flockwise", ignore=shutil.ignore_patterns("__pycache__"))
    (root / "flockwise" / "attacks" / "whisper.py").write_text(ATTACK)
    (root / "flockwise" / "clustering" / "near_enough.py").write_text(CLUSTERER)
    (root / "flockwise" / "splits" / "placebo.py").write_text(SPLIT)
    (root / "flockwise" / "models" / "constant.py").write_text(MODEL)
    return root


def python(package: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, cwd=package,
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
    for battery in ("AttackBattery_whisper", "ClustererBattery_near_enough", "SplitBattery_placebo"):
        assert told.count(battery) >= 3
