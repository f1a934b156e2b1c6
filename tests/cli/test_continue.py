"""A folder of tables next month: one hospital more, one less, through the command line."""

from pathlib import Path

import numpy as np
import pytest
import tomli_w
from click.testing import CliRunner

import flockwise as fw
from flockwise.cli.app import app
from flockwise.errors import ConfigError


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
        "continue", str(tmp_path / "jan"), "--data", str(tmp_path / "february"), "--more", "2", "--out",
        str(tmp_path / "feb"),
    )  # fmt: skip
    assert "round 5/5" in told and "finished: 2 rounds in" in told
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
    assert "february/a.csv y = 'dead': must be one of the classes, ill, well" in str(done.exception)
    assert not (tmp_path / "feb").exists()


JANUARY = {"name": "folder", "path": "january", "target": "outcome"}


def config(folder: Path, rounds: int = 2, **sections: object) -> str:
    content = {"rounds": rounds, "data": JANUARY, "split": {"name": "natural"}, **sections}
    (folder / "my.toml").write_text(tomli_w.dumps(content))
    return str(folder / "my.toml")


def test_new_data_are_named_by_their_folder_and_stay_on_record(tmp_path: Path) -> None:
    fill(tmp_path / "january", ["a", "b"], 1)
    fill(tmp_path / "february", ["a", "b"], 2)
    command("run", config(tmp_path), "--out", str(tmp_path / "jan"), "-q")
    # FLOCKWISE_DATA is for all runs: it is nobody's February
    done = CliRunner().invoke(
        app, ["continue", str(tmp_path / "jan"), "--out", str(tmp_path / "same")], env={"FLOCKWISE_DATA": str(tmp_path)}
    )  # fmt: skip
    assert (
        "note: every client has the very data that jan was trained on; new data come with --data FOLDER"
        in done.output
    )
    told = command(
        "continue",
        str(tmp_path / "jan"),
        "--data",
        str(tmp_path / "february"),
        "--out",
        str(tmp_path / "feb"),
    )
    assert "note: every client" not in told
    run = fw.open_run(tmp_path / "feb")
    assert run.config["data"]["path"] == "february"  # beside the config, as it would be written there
    assert run.environment["data_digests"] != fw.open_run(tmp_path / "jan").environment["data_digests"]
    march = fw.continue_run(tmp_path / "jan", data=tmp_path / "february", more=1, out=tmp_path / "march")
    assert march.environment["data_digests"] == run.environment["data_digests"]


def test_a_folder_of_ones_own_data_is_named_when_a_run_begins_or_goes_on(tmp_path: Path) -> None:
    fill(tmp_path / "january", ["a", "b"], 1)
    (tmp_path / "january").rename(tmp_path / "moved")
    moved = str(tmp_path / "moved")
    command("run", config(tmp_path), "--data", moved, "--out", str(tmp_path / "jan"), "-q")
    assert fw.open_run(tmp_path / "jan").config["data"]["path"] == "moved"
    (tmp_path / "moved").rename(tmp_path / "again")
    command("resume", str(tmp_path / "jan"), "--rounds", "3", "--data", str(tmp_path / "again"), "-q")
    checked = CliRunner().invoke(
        app, ["data", "check", str(tmp_path / "my.toml"), "--data", str(tmp_path / "again")]
    )
    assert checked.exit_code == 0, checked.output


def test_a_folder_that_nothing_would_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "digits.toml").write_text("rounds = 1\n")
    words = ["run", str(tmp_path / "digits.toml"), "--data", str(tmp_path), "--out", str(tmp_path / "run")]
    done = CliRunner().invoke(app, words)
    assert "nothing would read it, since data.name = 'digits' reads no folder; leave it out" in str(
        done.exception
    )
    clients = fw.Federation.from_arrays([(np.eye(4), [0, 1, 0, 1])] * 2)
    with pytest.raises(ConfigError, match="since the clients were given in Python; leave it out"):
        fw.run(fw.fedavg(), clients, model=fw.models.softmax, data=tmp_path, out=tmp_path / "run")
    both = {"data": {"name": "mnist", "directory": str(tmp_path)}}
    with pytest.raises(
        ConfigError, match=r"data.directory = .* says where mnist lies, and so does data = .* leave one"
    ):
        fw.run(both, data=tmp_path, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_month_without_the_rare_class_goes_on_with_its_number(tmp_path: Path) -> None:
    fill(tmp_path / "january", ["a", "b"], 1)
    with (tmp_path / "january" / "a.csv").open("a") as file:  # between the others by name
        file.write("".join(f"{5 + n / 9:.2f},-5,rare\n" for n in range(9)))
    fill(tmp_path / "february", ["a", "b"], 2)
    command("run", config(tmp_path, training={"learning_rate": 0.3}), "--out", str(tmp_path / "jan"), "-q")
    command(
        "continue",
        str(tmp_path / "jan"),
        "--data",
        str(tmp_path / "february"),
        "--out",
        str(tmp_path / "feb"),
        "-q",
    )
    run = fw.open_run(tmp_path / "feb")
    assert run.environment["samples"]["class_names"] == ["ill", "rare", "well"]
    assert run.facts["accuracy"][0] > 0.8  # "well" is still number 2
    command("resume", str(tmp_path / "feb"), "--rounds", "5", "-q")
