import re
import tomllib

import pytest
from click.testing import CliRunner

from flockwise.cli.app import app
from flockwise.studies.cells import cells_of
from flockwise.studies.file import read_study
from flockwise.studies.template import TEMPLATE


def test_the_template_runs_as_it_is_and_writes_everything(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = CliRunner().invoke(app, ["new", "study"], catch_exceptions=False)
    (tmp_path / "my.toml").write_text(made.output)
    done = CliRunner().invoke(
        app, ["study", "my.toml", "--scale", "smoke", "--seeds", "2", "--jobs", "1"], catch_exceptions=False
    )
    assert done.exit_code == 0, done.output
    out = tmp_path / "studies" / "my"
    assert {"page.html", "table.md", "table.tex", "table.csv", "figures", "results"} <= {
        path.name for path in out.iterdir()
    }
    assert "worst attack" in (out / "table.md").read_text()
    assert "seeds = 3  # or which ones" in (out / "page.html").read_text()


def test_what_the_template_comments_out_is_right_too():
    """The suggestions, a section at a time; `skip` is said to go further up."""
    text = re.sub(r"^# (skip = .*)$", "", TEMPLATE, flags=re.MULTILINE)
    skip = re.search(r"^# (skip = .*)$", TEMPLATE, flags=re.MULTILINE)[1]
    suggested = re.sub(r'^# ((\[+\w[\w.]*\]+|"[\w.]+" =|\w+ = ).*)$', r"\1", text, flags=re.MULTILINE)
    suggested = suggested.replace(
        '[vary]\n"split.groups"', '[vary.groups]\ntwo = {}\n[ignored]\n"split.groups"'
    )
    content = tomllib.loads(f"{skip}\n{suggested}")
    content.pop("ignored")
    study = read_study(content)
    assert study.tune is not None and study.adjust and study.skip and study.numbers["accuracy"].last == 5
    assert not any(cell.error for cell in cells_of(study))


def test_a_tuned_study_is_tuned_on_the_command_line(tmp_path, monkeypatch):
    pytest.importorskip("optuna")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.toml").write_text(
        'base = { rounds = 1, split = { clients = 4 } }\nvary = { "aggregation.name" = ["mean", "median"] }\n'
        '[tune]\ntries = 2\nsearch = { "training.learning_rate" = { low = 0.01, high = 1.0, log = true } }\n'
    )
    dry = CliRunner().invoke(app, ["study", "my.toml", "--dry-run"], catch_exceptions=False)
    assert "before them 4 tries of tuning" in dry.output
    done = CliRunner().invoke(app, ["study", "my.toml", "--jobs", "1"], catch_exceptions=False)
    assert done.exit_code == 0 and "tuning: median, try 2" in done.output
    assert (tmp_path / "studies" / "my" / "tuning.csv").read_text().count("\n") == 5
    again = CliRunner().invoke(app, ["study", "my.toml", "--jobs", "1"], catch_exceptions=False)
    assert again.exit_code == 0 and "try" not in again.output.replace("tries", "")
