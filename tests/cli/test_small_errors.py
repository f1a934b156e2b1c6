"""Regression in operation: a small error is shown with digits that say something, wherever a run is shown."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import flockwise as fw
from flockwise.cli.app import app
from flockwise.dashboard.prometheus import exposition
from flockwise.dashboard.watching import Watch
from flockwise.numbers import shown
from flockwise.report import describe_run

STUDY = """
seeds = 1
[base]
rounds = 2
data.name = "meters_made_up:readings"
split.name = "natural"
task.name = "regression"
[vary.method]
"one model" = {}
[show]
numbers = ["mae"]
"""

READINGS = """
import numpy as np
from flockwise.data import Dataset, Holder

def readings():
    x = np.random.default_rng(0).normal(size=(40, 2)).astype(np.float32)
    holders = (Holder("a"), Holder("b"))
    return Dataset("readings", x, x[:, 0] / 1000, 40, 1.0, 0, writer=np.arange(40) % 2, holders=holders)
"""


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> fw.Run:
    """Targets so small that errors are a few ten-thousandths."""
    x = np.random.default_rng(0).normal(size=(60, 2)).astype(np.float32)
    y = np.random.default_rng(1).normal(size=60).astype(np.float32) / 2000
    rows = ((x[:40], y[:40]), (x[40:], y[40:]))
    clients = fw.Federation.from_arrays({"north": rows, "south": rows}, labels="numbers")
    run = fw.run(
        fw.fedavg(), clients, model=fw.models.softmax, task="regression", rounds=40,
        training=fw.SGD(epochs=3, learning_rate=0.1), out=tmp_path_factory.mktemp("runs") / "small",
    )  # fmt: skip
    assert 0.0001 < run.facts["mae"][-1] < 0.001
    return run


def told(*words: str) -> str:
    done = CliRunner().invoke(app, [*words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.9166666, "0.917"), (0.0004, "0.000400"), (-0.01234, "-0.0123"), (0.0, "0.000"), (12.3456, "12.346"),
        (3e-7, "3e-07"), (1e30, "1e+30"), (float("nan"), "nan"), (float("inf"), "inf"), (0.1, "0.100"),
    ],
)  # fmt: skip
def test_numbers_have_three_digits_that_say_something(value: float, text: str) -> None:
    assert shown(value) == text


def test_a_small_error_is_no_zero_anywhere(small: fw.Run) -> None:
    error = shown(float(small.facts["mae"][-1]))
    assert float(error) > 0
    for words in (["show", str(small.path)], ["runs", str(small.path.parent)]):
        assert error in told(*words)
    rows = told("clients", str(small.path)).splitlines()
    assert "mae" in rows[0] and shown(small.summary[0]["mae"]) in rows[1]
    assert f"MAE is {error} (lower is better)." in describe_run(small)["headline"]["story"]
    assert f"MAE {error}" in repr(small)


def test_an_error_is_a_metric_with_its_name_and_direction(small: fw.Run) -> None:
    text = exposition(Watch(small.path.parent).summaries())
    assert 'flockwise_run_score{run="small",metric="mae",better="lower"} 0.0' in text
    assert "flockwise_run_accuracy{" not in text


def test_a_study_tells_of_its_cells_by_their_tasks_score(tmp_path: Path) -> None:
    (tmp_path / "meters_made_up.py").write_text(READINGS)
    (tmp_path / "study.toml").write_text(STUDY)
    for jobs in ("1", "2"):
        done = told(
            "study", str(tmp_path / "study.toml"), "--out", str(tmp_path / f"out{jobs}"), "--jobs", jobs
        )
        assert "[1/1] one model, seed 0: MAE 0." in done, done
