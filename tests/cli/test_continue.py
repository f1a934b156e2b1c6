"""A folder of tables next month: one hospital more, one less, through the command line."""

from pathlib import Path

import numpy as np
import tomli_w
from click.testing import CliRunner

import flockwise as fw
from flockwise.cli.app import app


def fill(folder: Path, names: list[str], seed: int, outcome: tuple[str, str] = ("ill", "well")) -> None:
    random = np.random.default_rng(seed)
    folder.mkdir()
    for name in names:
        rows = random.normal(size=(40, 2))
        lines = [f"{a:.3f},{b:.3f},{outcome[int(a + b > 0)]}" for a, b in rows]
        (folder / f"{name}.csv").write_text("\n".join(["age,beats,outcome", *lines]) + "\n")


def command(*words: str) -> str:
    done = CliRunner().invoke(app, [*words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_a_thirteenth_hospital_joins_and_one_leaves(tmp_path: Path) -> None:
    twelve = [f"hospital-{number:02}" for number in range(12)]
    fill(tmp_path / "january", twelve, 1)
    fill(tmp_path / "february", [*twelve[1:], "hospital-12", "hospital-13"], 2)
    config = {
        "rounds": 3, "data": {"name": "folder", "path": "january", "target": "outcome"},
        "split": {"name": "natural"}, "training": {"learning_rate": 0.3},
    }  # fmt: skip
    (tmp_path / "my.toml").write_text(tomli_w.dumps(config))
    command("run", str(tmp_path / "my.toml"), "--out", str(tmp_path / "jan"), "-q")
    told = command(
        "continue", str(tmp_path / "jan"), "--set", "data.path=february", "--more", "2", "--out", str(tmp_path / "feb"),
    )  # fmt: skip
    assert "round 5/5" in told
    run = fw.open_run(tmp_path / "feb")
    assert [client["name"] for client in run.clients] == [*twelve[1:], "hospital-12", "hospital-13"]
    assert run.rounds.tolist() == [3, 4, 5] and run.facts["accuracy"][0] > 0.8
    assert [e.detail for e in run.events if e.kind == "continued"] == [
        {"new": ["hospital-12", "hospital-13"], "gone": ["hospital-00"]}
    ]
    command("resume", str(tmp_path / "feb"), "--rounds", "6", "-q")  # with its own data, not January's
    assert fw.open_run(tmp_path / "feb").rounds.tolist() == [3, 4, 5, 6]


def test_other_labels_are_refused(tmp_path: Path) -> None:
    fill(tmp_path / "january", ["a", "b"], 1)
    fill(tmp_path / "february", ["a", "b"], 2, outcome=("dead", "ill"))
    data = {"name": "folder", "path": "january", "target": "outcome"}
    fw.run(
        {"rounds": 1, "data": data, "split": {"name": "natural"}}, directory=tmp_path, out=tmp_path / "jan"
    )
    words = ["continue", str(tmp_path / "jan"), "--set", "data.path=february", "--out", str(tmp_path / "feb")]
    done = CliRunner().invoke(app, words)
    assert "the labels must be ill, well, as in jan, not dead, ill" in str(done.exception)
    assert not (tmp_path / "feb").exists()
