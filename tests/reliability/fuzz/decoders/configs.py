"""Configs, overrides, files of studies and what they leave behind."""

import json
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from unittest import mock

from flockwise import plugins
from flockwise.config import load_config, parse_config
from flockwise.config.template import template
from flockwise.scoring import read_scoring
from flockwise.studies.file import read_study
from flockwise.studies.legacy import older_files
from flockwise.studies.published.bars import read_bars
from flockwise.studies.results import read_result
from tests.reliability.fuzz.putting import put
from tests.reliability.fuzz.target import decoder

ROOT = Path(__file__).parents[4]


_points = cache(plugins.entry_points)


def installed() -> AbstractContextManager[object]:
    """Which packages are installed is looked up once: it takes longer than to read a config."""
    return mock.patch.object(plugins, "entry_points", _points)


def configs() -> list[bytes]:
    said = b'rounds = 3\nseed = 1\n[strategy]\nname = "flic"\n[aggregation]\nname = "median"\n[data]\nname = "digits"\n'
    more = (
        b'[split]\nname = "dirichlet"\nalpha = 0.1\nclients = 10\n[attack]\nname = "sign_flip"\nclients = 2\n'
    )
    return [said, said + more, _said(template("flic")), _said(template("ifca"))]


def _said(text: str) -> bytes:
    """Without comments: what a text takes to be read grows with it."""
    return "\n".join(
        line.partition("  #")[0] for line in text.splitlines() if line and line[0] != "#"
    ).encode()


@decoder("config", configs, lines=True, quick=300)
def _(data: bytes, folder: Path) -> object:
    with installed():
        return load_config(put(folder / "config.toml", data))


def overrides() -> list[bytes]:
    return [
        b"training.epochs=5",
        b"strategy.name=ifca\nstrategy.flocks=3",
        b'data.name="digits"\nattack.clients=[1, 2]',
    ]


@decoder("override on the command line", overrides, lines=True, quick=300)
def _(data: bytes, folder: Path) -> object:
    with installed():
        return parse_config({}, data.decode("utf-8", "surrogateescape").split("\n"), directory=folder)


def studies() -> list[bytes]:
    found = sorted((ROOT / "examples").rglob("*.toml")) + sorted(
        (ROOT / "benchmarks" / "studies").rglob("study.toml")
    )
    small = b'seeds = 2\n[base]\nrounds = 2\n[vary]\n"strategy.name" = ["fedavg", "flic"]\n[show]\nnumbers = ["accuracy"]\n'
    return [small, *(path.read_bytes() for path in found[:4])]


@decoder("study", studies, lines=True, quick=300)
def _(data: bytes, folder: Path) -> object:
    return read_study(put(folder / "study.toml", data)).every_table()


def results() -> list[bytes]:
    result = {
        "study": "s", "table": "", "cell": "c", "labels": {}, "seed": 0, "scale": "", "config": {},
        "values": {"accuracy": 1.0},
        "commit": "x", "date": "2026-01-01T00:00:00Z",
    }  # fmt: skip
    older = {"config_hash": "x", "table": "", "cell": "c", "scale": "", "seed": 0}
    return [json.dumps(each).encode() for each in (result, older)]


@decoder("result of a study", results)
def _(data: bytes, folder: Path) -> object:
    return read_result(put(folder / "result.json", data)), list(older_files(folder))


def bars() -> list[bytes]:
    """The shortest: what a text takes to be read grows with it."""
    found = [path.read_bytes() for path in sorted((ROOT / "src").rglob("published.toml"))]
    return sorted(found, key=len)[:4]


@decoder("numbers of a paper", bars, lines=True, quick=300)
def _(data: bytes, folder: Path) -> object:
    return read_bars(put(folder / "published.toml", data).parent)


@decoder(
    "scoring on record", lambda: [b'["accuracy", "higher", 0.0, 1.0]', b'["error", "lower", null, null]']
)
def _(data: bytes, folder: Path) -> object:
    return read_scoring(data.decode("utf-8", "replace"))
