"""Similarities, clusterers and rules of one's own that are wrong: one line each, and never a result."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from click.testing import CliRunner

import flockwise as fw
from flockwise.cli.app import app
from flockwise.errors import ConfigError, PluginError


def clients() -> fw.Federation:
    rng = np.random.default_rng(0)
    return fw.Federation.from_arrays([(rng.normal(size=(20, 3)), np.arange(20) % 2) for _ in range(5)])


def run(tmp_path: Path, **pieces: Any) -> fw.Run:
    method = fw.custom(when="every", first=1, every=1, **pieces)
    return fw.run(method, clients(), model=torch.nn.Linear(3, 2), rounds=2, out=tmp_path / "run")


class Clusterer:
    """Returns whatever it is given; it is made inside a test, so that no config can name it."""

    def __init__(self, returns: Any) -> None:
        self.returns = returns

    def fit_predict(self, matrix: np.ndarray) -> Any:
        return self.returns(matrix)


@pytest.mark.parametrize(
    ("returns", "told"),
    [
        (lambda u: np.full((len(u), len(u)), np.nan), "returned NaN for 25 of 25 pairs"),
        (lambda u: np.full((len(u), len(u)), np.inf), "returned infinity for 25 of 25 pairs"),
        (lambda u: None, r"returned NoneType: must be \(5, 5\) numbers"),
        (lambda u: "abc", r"returned str: must be \(5, 5\) numbers"),
        (lambda u: [["a"] * 5] * 5, r"returned list: must be \(5, 5\) numbers"),
        (lambda u: [[1.0], [1.0, 2.0]], r"returned list: must be \(5, 5\) numbers"),
        (lambda u: np.ones((5, 5)) * 1j, r"returned ndarray of complex128: must be \(5, 5\) numbers"),
        (lambda u: np.zeros(3), r"returned shape \(3,\), must be \(5, 5\)"),
        (lambda u: np.arange(25.0).reshape(5, 5), "is not symmetric"),
        (lambda u: [][1], "raised IndexError: list index out of range"),
    ],
)
def test_a_similarity_that_is_wrong_is_one_line(returns: Any, told: str, tmp_path: Path) -> None:
    with pytest.raises(PluginError, match=f"^similarity 'own': {told}"):
        run(tmp_path, similarity=returns)
    assert fw.open_run(tmp_path / "run").state == "failed"


@pytest.mark.parametrize(
    ("returns", "told"),
    [
        (lambda m: [0], "Clusterer returned int64 of shape"),
        (lambda m: np.zeros(5), "Clusterer returned float64"),
        (lambda m: None, "Clusterer returned None"),
        (lambda m: ["a"] * 5, "Clusterer returned <U1"),
        (lambda m: 1 / 0, "Clusterer: raised ZeroDivisionError: division by zero"),
    ],
)
def test_a_clusterer_that_is_wrong_is_one_line(returns: Any, told: str, tmp_path: Path) -> None:
    with pytest.raises(PluginError, match=f"^{told}"):
        run(tmp_path, clustering=Clusterer(returns))


def test_a_clusterer_that_calls_everybody_noise_makes_flocks_of_one(tmp_path: Path) -> None:
    assert len(run(tmp_path, clustering=Clusterer(lambda m: -np.ones(5, int))).flocks) == 5


def test_a_rule_that_raises_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match=r"^aggregation.name = 'own': raised KeyError: 'x'"):
        run(tmp_path, rule=lambda updates: {}["x"])


def test_a_method_with_an_object_no_config_can_name_asks_for_it_again(tmp_path: Path) -> None:
    done = run(tmp_path, clustering=Clusterer(lambda m: np.arange(5) % 2))
    assert done.config["strategy"]["name"] == "own" and len(done.flocks) == 2
    with pytest.raises(ConfigError, match=r"pass it again, as in flockwise.resume"):
        fw.resume(done.path, clients=clients(), model=torch.nn.Linear(3, 2), rounds=3)


SPLIT = """
from dataclasses import replace
import numpy as np
from flockwise.data import Federation, Shard

def wards(dataset, *, clients=None, seed, validation):
    parts = np.array_split(np.arange(200), 7)
    shards = [Shard(p[:20], p[20:22], p[22:]) for p in parts]
    return Federation(replace(dataset, name="wards"), tuple(shards))
"""


def test_a_split_of_ones_own_has_its_data_and_clients_on_record(tmp_path: Path) -> None:
    (tmp_path / "by_ward.py").write_text(SPLIT)
    (tmp_path / "my.toml").write_text('rounds = 1\nsplit = {name = "by_ward:wards", clients = "none"}\n')
    done = CliRunner().invoke(
        app, ["run", str(tmp_path / "my.toml"), "--out", str(tmp_path / "run"), "-q"], catch_exceptions=False
    )
    assert done.exit_code == 0, done.output
    shown = CliRunner().invoke(app, ["show", str(tmp_path / "run")]).output
    assert "data        wards" in shown and len(fw.open_run(tmp_path / "run").clients) == 7
    told = CliRunner().invoke(
        app,
        ["run", str(tmp_path / "my.toml"), "--set", "split.clients=20", "--out", str(tmp_path / "two"), "-q"],
    )
    assert "split.clients = 20: by_ward:wards made 7 clients" in str(told.exception)


def test_a_model_of_a_config_may_be_a_function_of_nothing_or_a_class(tmp_path: Path) -> None:
    (tmp_path / "nets.py").write_text(
        "import torch\n\nclass Net(torch.nn.Sequential):\n"
        "    def __init__(self, *, width: int = 4):\n"
        "        super().__init__(torch.nn.Flatten(), torch.nn.Linear(64, width), torch.nn.Linear(width, 10))\n\n"
        "def nothing():\n    return Net(width=6)\n"
    )
    (tmp_path / "c.toml").write_text(
        "rounds = 1\nsplit = {clients = 3}\nmodel = {name = 'nets:Net', width = 5}\n"
    )
    assert fw.run(tmp_path / "c.toml", out=tmp_path / "a").checkpoint()["models"].shape == (
        1,
        65 * 5 + 6 * 10,
    )
    (tmp_path / "c.toml").write_text("rounds = 1\nsplit = {clients = 3}\nmodel = {name = 'nets:nothing'}\n")
    assert fw.run(tmp_path / "c.toml", out=tmp_path / "b").checkpoint()["models"].shape == (
        1,
        65 * 6 + 7 * 10,
    )
