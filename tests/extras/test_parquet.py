"""A folder of Parquet files, from data to predictions and back to Parquet."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import flockwise as fw
from flockwise.cli.app import app
from flockwise.errors import DataError

arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed: .ci/extended extras")
parquet = pytest.importorskip("pyarrow.parquet")

CONFIG = 'rounds = 4\ndata = {name = "folder", path = "in", target = "outcome"}\nsplit = {name = "natural"}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three hospitals; the outcome is whether age + beats > 0."""
    rng = np.random.default_rng(0)
    (tmp_path / "in").mkdir()
    for name in ("Oslo", "Bergen", "Bodø"):
        table = {"age": rng.normal(size=60), "beats": rng.normal(size=60).astype(np.float32)}
        table["outcome"] = np.where(table["age"] + table["beats"] > 0, "ill", "well")
        parquet.write_table(arrow.table(table), tmp_path / "in" / f"{name}.parquet")
    (tmp_path / "my.toml").write_text(CONFIG)
    return tmp_path


def command(*words: str) -> str:
    done = CliRunner().invoke(app, [*words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_from_files_of_hospitals_to_predictions_and_tables(folder: Path) -> None:
    run = str(folder / "run")
    command("run", str(folder / "my.toml"), "--out", run, "-q", "--set", "training.learning_rate=0.5")
    assert fw.open_run(run).clients[0]["name"] == "Bergen"
    new = arrow.table({"beats": [2.0, -2.0], "age": [1.0, -1.0]})
    parquet.write_table(new, folder / "new.parquet")
    told = command("predict", run, "--flock", "0", "--data", str(folder / "new.parquet"))
    assert [line.split(",")[0] for line in told.splitlines()] == ["prediction", "ill", "well"]
    command("export", run, "--to", "parquet", "--out", str(folder / "numbers"))
    rounds = parquet.read_table(folder / "numbers" / "rounds.parquet")
    assert rounds["accuracy"].to_pylist() == fw.open_run(run).facts["accuracy"].tolist()
    clients = parquet.read_table(folder / "numbers" / "clients.parquet")
    assert clients["name"].to_pylist() == ["Bergen", "Bodø", "Oslo"]


@pytest.mark.parametrize("content", [b"", b"PAR1 no more of it", b"PAR1" + bytes(40) + b"PAR1"])
def test_a_damaged_file_is_named(folder: Path, content: bytes) -> None:
    (folder / "in" / "Oslo.parquet").write_bytes(content)
    with pytest.raises(DataError, match=r"Oslo\.parquet: cannot be read as Parquet") as refused:
        fw.run(folder / "my.toml", out=folder / "run")
    assert "\n" not in str(refused.value)


def test_a_gap_in_a_column_is_named_by_client(folder: Path) -> None:
    table = parquet.read_table(folder / "in" / "Oslo.parquet").to_pydict()
    table["age"][7] = None
    parquet.write_table(arrow.table(table), folder / "in" / "Oslo.parquet")
    with pytest.raises(DataError, match=r"Oslo \(client 2\).*NaN.*age"):
        fw.run(folder / "my.toml", out=folder / "run")
