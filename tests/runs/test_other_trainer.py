"""A run that goes on with another trainer than before says so: results differ in their last digits."""

from pathlib import Path

import pytest

import flockwise
from flockwise.native import compiler
from flockwise.store import open_run
from tests.runs.small import FLIC

SMALL = {**FLIC, "rounds": 2, "model": {"name": "cnn"}, "training": {"epochs": 1, "batch_size": 64}}


def told(path: Path) -> list[str]:
    return [event.message for event in open_run(path).events if event.kind == "trainer"]


@pytest.mark.skipif(compiler.find_compiler() is None, reason="needs a C++ compiler")
def test_resuming_without_a_compiler_is_on_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flockwise.run(SMALL, out=tmp_path / "run")
    flockwise.resume(tmp_path / "run", rounds=3)
    assert told(tmp_path / "run") == []
    monkeypatch.setattr(compiler, "find_compiler", lambda: None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    compiler.forget()
    try:
        flockwise.resume(tmp_path / "run", rounds=4)
    finally:
        compiler.forget()
    (message,) = told(tmp_path / "run")
    assert "results differ in their last digits" in message and "now by generic" in message
