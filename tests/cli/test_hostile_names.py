"""Names that lead elsewhere, wherever a name is given: on the command line, in a config, in a study. None is followed."""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import flockwise as fw
from flockwise.cli.app import app
from flockwise.config import parse_config
from flockwise.errors import FlockwiseError
from flockwise.export import export_run
from flockwise.rng import generator
from flockwise.studies.results import slug
from tests.conftest import Cases
from tests.reliability.made import make

PARTS = (
    "..", ".", "/", "\\", "%2e%2e", "%2f", "%252e%252e%252f", "\0", "%00", "run", "secret", "~", "C:", "CON", "//", "NUL",
    "\uff0e\uff0e", "\u2024\u2024", "\u2215", "\u2216", "a" * 300, "config.toml", "checkpoints", ";", "|", "$HOME", "`id`",
    "?", "#", "\n", "\r", " ", "\x1b[31m", "\u202e", "--out", "-q", "link",
)  # fmt: skip
SECTIONS = ("data", "split", "model", "task", "strategy", "aggregation", "attack", "engine")
# Commands that are given a piece, a strategy or a data set by name; none of them may write a file.
COMMANDS = (("new",), ("list",), ("show",), ("data", "check"), ("report",), ("clients",), ("logs",))


def names(number: int, purpose: str) -> list[str]:
    """So many names, put together of what leads elsewhere."""
    random = generator(0, purpose)
    return [
        "".join(PARTS[i] for i in random.integers(len(PARTS), size=int(random.integers(1, 6))))
        for _ in range(number)
    ]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where commands are run: a run, a link that leads out, and what lies outside."""
    here = tmp_path / "here"
    make(here / "run", rounds=2)
    (tmp_path / "secret").write_text("a secret")
    (here / "link").symlink_to(tmp_path)
    monkeypatch.chdir(here)
    return here


_watched: list[Path] = []
_outside: list[str] = []


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    """Note what is opened for writing, made, moved or removed outside the folder that is watched."""
    if not _watched or event not in ("open", "os.mkdir", "os.rename", "os.remove", "os.symlink"):
        return
    writes = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    if event == "open" and not (isinstance(arguments[2], int) and arguments[2] & writes):
        return
    path = arguments[0]
    if isinstance(path, str | bytes | os.PathLike):
        where = Path(os.path.realpath(os.fsdecode(path)))
        # What Python keeps of what it imports, and shared memory, whose names nobody chooses.
        ours = where == Path(os.devnull) or "__pycache__" in where.parts
        ours |= where.is_relative_to("/dev/shm") and where.name.startswith("flockwise-")
        if not ours and not where.is_relative_to(_watched[0]):
            _outside.append(f"{event} {where}")


sys.addaudithook(_audit)


@contextlib.contextmanager
def watched(folder: Path) -> Iterator[None]:
    """Nothing is written outside in here."""
    _watched[:], _outside[:] = [folder.resolve()], []
    try:
        yield
    finally:
        _watched.clear()
    assert not _outside, _outside


def test_no_name_in_a_config_is_followed(folder: Path, cases: Cases) -> None:
    for number, name in enumerate(names(cases.many(40), "names in configs")):
        section = SECTIONS[number % len(SECTIONS)]
        with watched(folder):
            for content in ({section: {"name": name}}, {"name": name}):
                try:
                    found = parse_config(content, directory=folder)
                except FlockwiseError as error:
                    assert "a secret" not in str(error)
                else:  # what is taken as the name of a run is a name, and no path
                    assert set(content) == {"name"} and not set("/\\\0\n") & set(found.name), name
                    assert not found.name.startswith("."), name


def test_no_name_on_the_command_line_is_followed(folder: Path, cases: Cases) -> None:
    for number, name in enumerate(names(cases.many(20), "names on the command line")):
        words = COMMANDS[number % len(COMMANDS)]
        with watched(folder):
            done = CliRunner().invoke(app, [*words, "--", name])
        assert "a secret" not in done.output
        told = done.exception
        assert told is None or isinstance(told, FlockwiseError | SystemExit | OSError | ValueError), (
            words,
            name,
            told,
        )


def test_no_name_of_a_cell_or_client_leads_out_of_a_folder(tmp_path: Path, cases: Cases) -> None:
    for name in names(cases.many(40), "names of cells"):
        stem = slug(name)
        assert (tmp_path / f"{stem}.json").resolve().parent == tmp_path.resolve(), name
        assert len(stem) < 200 and not set(stem) & set("/\\\0\n"), name
    rows = (np.arange(24.0).reshape(12, 2) / 24, np.arange(12) % 2)
    hostile = dict.fromkeys(names(8, "names of clients"), rows)
    given = {"model": fw.models.softmax, "rounds": 1}
    fw.run(
        fw.fedavg(), fw.data.Federation.from_arrays({"a": rows, "b": rows}), out=tmp_path / "kernels", **given
    )
    with watched(tmp_path):
        fw.run(fw.fedavg(), fw.data.Federation.from_arrays(hostile), out=tmp_path / "run", **given)
        for kind in ("csv", "jsonl"):
            for path in export_run(tmp_path / "run", kind, tmp_path / kind):
                assert path.resolve().is_relative_to(tmp_path.resolve())
