"""A run that goes on with other kernels than before says so."""

from pathlib import Path

import pytest

import flockwise
from flockwise import native
from tests.runs.small import with_changes


def test_going_on_without_a_compiler_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = iter([False, False, True])
    flockwise.run(with_changes(), out=tmp_path / "run", stop=lambda: next(seen, True))
    monkeypatch.setenv("FLOCKWISE_NATIVE", "0")
    native.compiler.forget()
    try:
        run = flockwise.resume(tmp_path / "run")
    finally:
        monkeypatch.undo()
        native.compiler.forget()
    told = [event.message for event in run.events if event.kind == "trainer"]
    if "native" not in run.about["trainer"] and not told:
        pytest.skip("no compiler here: both parts of the run were trained by torch")
    assert len(told) == 1 and "native kernels" in told[0] and "generic path" in told[0]


def test_going_on_in_the_same_way_is_not_told(tmp_path: Path) -> None:
    flockwise.run(with_changes(), out=tmp_path / "run", stop=lambda: True)
    run = flockwise.resume(tmp_path / "run")
    assert not [event for event in run.events if event.kind == "trainer"]
