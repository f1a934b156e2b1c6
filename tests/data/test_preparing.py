"""Tables with gaps and columns of any scale: filled and scaled by numbers that clients could send, kept for predictions."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w
from click.testing import CliRunner

import flockwise as fw
from flockwise.cli.app import app
from flockwise.config import parse_config
from flockwise.data import check_data
from flockwise.errors import ConfigError, DataError
from flockwise.runs.federating import make_federation


def fill(folder: Path, seed: int, shift: float = 0.0) -> None:
    """Age in days and a ratio: one column is a million times the other; some values are missing."""
    random = np.random.default_rng(seed)
    folder.mkdir()
    for name in ("north", "south", "west"):
        lines = ["days,ratio,outcome"]
        for a, b in random.normal(size=(60, 2)):
            gap = random.random() < 0.1
            lines.append(
                f"{'' if gap else f'{20000 + 5000 * (a + shift):.1f}'},{b / 100:.5f},{int(a + shift + b > 0)}"
            )
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")


def config(**more: Any) -> dict[str, Any]:
    data = {"name": "folder", "path": "january", "target": "outcome", **more}
    return {
        "rounds": 10, "data": data, "split": {"name": "natural"}, "training": {"epochs": 3, "learning_rate": 0.3},
    }  # fmt: skip


@pytest.fixture
def january(tmp_path: Path) -> Path:
    fill(tmp_path / "january", 1)
    return tmp_path


def test_only_training_rows_are_counted_and_all_rows_are_prepared(january: Path) -> None:
    asked = parse_config(config(impute=True, standardise=True), directory=january)
    federation = make_federation(asked, january, None)
    raw = make_federation(parse_config(config(check="off"), directory=january), january, None)
    train = np.concatenate([raw.dataset.x[raw.indices(client, "train")] for client in range(3)])
    mean, spread = np.nanmean(train, axis=0, dtype=float), np.nanstd(train, axis=0, dtype=float)
    assert federation.dataset.prepare is not None
    assert np.allclose(federation.dataset.prepare.fitted, np.stack([mean, spread], axis=1), rtol=1e-5)
    x = federation.dataset.x
    gaps = np.isnan(raw.dataset.x)
    assert gaps.any() and np.allclose(x[gaps], 0, atol=1e-6)
    assert np.allclose(x[~gaps], ((raw.dataset.x - mean) / spread)[~gaps], atol=1e-4)
    assert not check_data(federation).bad and check_data(raw).bad


def test_a_prepared_table_learns_predicts_and_goes_on_with_the_scale_that_its_models_know(
    january: Path,
) -> None:
    (january / "my.toml").write_text(tomli_w.dumps(config(impute=True, standardise=True)))
    run = fw.run(january / "my.toml", out=january / "jan")
    assert run.facts["accuracy"][-1] > 0.85
    told = run.environment["samples"]["prepared"]
    assert told["impute"] and told["standardise"] and told["fitted"][0][0] == pytest.approx(20000, rel=0.1)
    (january / "new.csv").write_text(
        "ratio,days\n0.02,30000\n-0.02,\n0.02,\n"
    )  # as clients hold them, gaps and all
    done = CliRunner().invoke(
        app, ["predict", str(run.path), "--flock", "0", "--data", str(january / "new.csv")]
    )
    assert done.exit_code == 0, done.output
    assert [line.split(",")[0] for line in done.output.splitlines()[1:]] == ["1", "0", "1"]
    fill(january / "february", 2, shift=1.0)  # everybody is older: February's own scale would hide that
    later = fw.continue_run(run.path, data=january / "february", more=1, out=january / "feb")
    assert (
        later.environment["samples"]["prepared"] == told and later.config["data"]["fitted"] == told["fitted"]
    )
    assert later.facts["accuracy"][0] > 0.8
    fw.resume(later.path, rounds=12)


def test_without_it_gaps_are_refused_as_ever(january: Path) -> None:
    with pytest.raises(DataError, match="impute"):
        fw.run(config(), directory=january, out=january / "run")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"fitted": [[0.0, 1.0]]}, "fitted: belongs to impute or standardise"),
        ({"standardise": True, "fitted": [[0.0, 0.0], [0.0, 1.0]]}, "the spread above 0"),
        (
            {"standardise": True, "fitted": [[0.0, 1.0, 2.0], [0.0, 1.0]]},
            "must be mean and spread of each column",
        ),
        ({"standardise": True, "fitted": [[0.0, 1.0]]}, "fitted = 1 columns: must be as many as there are"),
        ({"impute": True, "inputs": "tokens", "features": ["outcome2"]}, "outcome2"),
    ],
)
def test_what_cannot_be_is_one_line(options: dict[str, Any], told: str, january: Path) -> None:
    with pytest.raises((ConfigError, DataError), match=told):
        fw.run(config(**options), directory=january, out=january / "run")
    assert not (january / "run").exists()


def wards(folder: Path, *values: str) -> None:
    folder.mkdir(exist_ok=True)
    for name in ("north", "south"):
        lines = [
            f"{n % 7 / 7:.2f},{values[n % len(values)]},{int(values[n % len(values)] == 'B')}"
            for n in range(60)
        ]
        (folder / f"{name}.csv").write_text("\n".join(["age,ward,outcome", *lines]) + "\n")


def test_text_is_encoded_by_values_that_are_said(tmp_path: Path) -> None:
    wards(tmp_path / "january", "A", "B", "C")
    said = config(encode={"ward": ["A", "B", "C"]})
    (tmp_path / "my.toml").write_text(tomli_w.dumps(said))
    run = fw.run(tmp_path / "my.toml", out=tmp_path / "jan")
    assert run.environment["samples"]["columns"] == ["age", "ward=A", "ward=B", "ward=C"]
    assert run.facts["accuracy"][-1] > 0.95 and run.config["data"]["encode"] == {"ward": ["A", "B", "C"]}
    (tmp_path / "new.csv").write_text("ward,age\nB,0.5\nA,0.5\n")
    words = ["predict", str(run.path), "--flock", "0", "--data", str(tmp_path / "new.csv")]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert [line.split(",")[0] for line in done.output.splitlines()[1:]] == ["1", "0"]
    (tmp_path / "new.csv").write_text("ward,age\nD,0.5\n")
    assert "column ward: 'D' is none of the values it is encoded by, A, B, C" in str(
        CliRunner().invoke(app, words).exception
    )
    wards(tmp_path / "february", "A", "B")  # nobody in ward C this month
    fw.continue_run(run.path, data=tmp_path / "february", more=1, out=tmp_path / "feb")


@pytest.mark.parametrize(
    ("encode", "told"),
    [
        ({"ward": ["A", "B"]}, "column ward: 'C' is none of the values it is encoded by, A, B"),
        ({"bed": ["A", "B"]}, "data.encode = 'bed' is no column of it"),
        ({"ward": ["A"]}, "must be all values of the column, each once, at least two"),
        ({"ward": 7}, r"data.encode"),
    ],
)
def test_values_that_were_not_said_are_refused(encode: Any, told: str, tmp_path: Path) -> None:
    wards(tmp_path / "january", "A", "B", "C")
    with pytest.raises((ConfigError, DataError), match=told):
        fw.run(config(encode=encode), directory=tmp_path, out=tmp_path / "run")
