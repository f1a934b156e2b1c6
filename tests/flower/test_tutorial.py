"""The tutorial in docs/flower.md does what it says."""

import importlib
import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("flwr", reason="needs flockwise[flower]")

from click.testing import CliRunner
from flwr.app import Context, RecordDict

from flockwise.cli.app import app as command_line
from flockwise.flower import Flocks
from flockwise.store import open_run

from .fake_grid import FakeGrid, FakeNode

PAGE = (Path(__file__).parents[2] / "docs" / "flower.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"```python\n# (\w+)\.py\n(.*?)```", PAGE, flags=re.S))


@pytest.fixture
def tutorial(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name, code in BLOCKS.items():
        (tmp_path / f"tutorial_{name}.py").write_text(code)
    yield lambda name: importlib.import_module(f"tutorial_{name}")
    for name in BLOCKS:
        sys.modules.pop(f"tutorial_{name}", None)


def accuracy_of(tutorial, server, capsys):
    app = tutorial("client").app
    grid = FakeGrid([FakeNode(p, app, name=f"clinic-{p}") for p in range(6)])
    tutorial(server).app(grid, Context(7, 0, {}, RecordDict(), {}))
    return capsys.readouterr().out.strip().splitlines()[-1]


def test_three_lines_turn_fedavg_into_flocks(tutorial, capsys, tmp_path):
    assert set(BLOCKS) == {"client", "server_before", "server"}
    before, after = BLOCKS["server_before"].splitlines(), BLOCKS["server"].splitlines()
    assert len(before) == len(after) and sum(a != b for a, b in zip(before, after, strict=True)) == 3
    fedavg = float(accuracy_of(tutorial, "server_before", capsys))
    flocks, told = accuracy_of(tutorial, "server", capsys).split(" ", 1)
    assert fedavg < 0.6 and float(flocks) > 0.8
    assert "'clinic-0': 0, 'clinic-1': 1" in told or "'clinic-0': 1, 'clinic-1': 0" in told
    found = open_run(tmp_path / "runs" / "clinics")
    assert [event.round for event in found.events if event.kind == "flocks"] == [3]


def test_every_keyword_on_the_page_exists():
    import inspect

    rows = [row.split("|") for row in PAGE.partition("| keyword |")[2].partition("\n\n")[0].splitlines()[2:]]
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row[1])}
    assert named and named <= set(inspect.signature(Flocks.__init__).parameters)


@pytest.mark.parametrize(
    "words", sorted(set(re.findall(r"^    (flockwise [a-z]+(?: [a-z]+)?)", PAGE, flags=re.M)))
)
def test_every_command_on_the_page_exists(words):
    names = [word for word in words.split()[1:] if word.isalpha() and word not in ("my", "runs", "path")]
    shown = CliRunner().invoke(command_line, [*names, "--help"])
    assert shown.exit_code == 0, shown.output
