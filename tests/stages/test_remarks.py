"""A method that will not come to look for flocks, or has found none, says so."""

from pathlib import Path

import numpy as np
import pytest

import flockwise as fw
from flockwise.stages.state import first_state
from flockwise.stages.timing import FOUND, LOOKED, Looked, WhenStable, once
from flockwise.store import open_run

from ..runs.small import with_changes


def state(round: int = 0):
    found = first_state(np.zeros((1, 3)), 4)
    return type(found)(round, found.models, found.labels, found.apart, found.memory)


@pytest.mark.parametrize(
    ("method", "rounds", "words"),
    [
        (fw.fl_hc(), 8, "looked for after round 11, and the run ends with round 8"),
        (fw.fl_hc(), 11, ""),
        (fw.flic(warmup=9), 8, "looked for after round 9, and the run ends with round 8"),
        (fw.flic(patience=7), 8, "round 9 at the earliest, and the run ends with round 8"),
        (fw.flic(), 7, ""),
        (fw.fedavg(), 1, ""),
        (fw.communities(), 1, ""),
    ],
)
def test_a_run_that_is_too_short_is_told_before_it_starts(method: fw.Method, rounds: int, words: str) -> None:
    told = "; ".join(method.remarks(state(), rounds))
    assert words in told and bool(words) == bool(told)


def test_the_only_look_that_found_nothing_is_told_at_the_end() -> None:
    looked = LOOKED.put(state(8), Looked(3))
    assert "alike in round 3, and flocks are looked for only once" in once(3).remark(looked, 8)
    assert once(3).remark(looked, 20) == ""  # under way
    assert once(3).over(looked) and not once(3).over(state(2))
    assert once(3).over(FOUND.put(state(8), Looked(3)))


def test_flocks_that_never_settled_are_told_at_the_end(tmp_path: Path) -> None:
    fw.run(
        with_changes(strategy={"name": "flic", "warmup": "auto", "patience": 6}),
        out=tmp_path / "run",
        rounds=8,
    )
    note = open_run(tmp_path / "run").about["note"]
    assert "did not stay the same for 6 rounds" in note or "alike to the end" in note


def test_a_run_that_found_its_flocks_has_nothing_to_add(tmp_path: Path) -> None:
    run = fw.run(with_changes(strategy={"name": "flic", "warmup": 4}), out=tmp_path / "run")
    assert run.about["note"] == ""


def test_the_note_is_in_the_report_and_goes_when_the_run_goes_on(tmp_path: Path) -> None:
    from flockwise.report import describe_run

    short = with_changes(strategy={"name": "flic", "warmup": 5})
    fw.run(short, out=tmp_path / "run", rounds=2)
    told = describe_run(open_run(tmp_path / "run"))["headline"]["story"]
    assert "Flocks are looked for after round 5, and the run ends with round 2." in told
    fw.resume(tmp_path / "run", rounds=8)
    assert open_run(tmp_path / "run").about["note"] == ""


@pytest.mark.parametrize("warmup", [3, "auto"])
def test_once_flocks_are_found_no_updates_are_kept(warmup: int | str, tmp_path: Path) -> None:
    strategy = {"name": "flic", "warmup": warmup, "patience": 1}
    checkpoint = {"at": [1, 2, 3, 4, 5, 6, 7, 8]}
    run = fw.run(
        with_changes(
            strategy=strategy, checkpoint=checkpoint, sampling={"fraction": 1.0}, faults={"dropout": 0.0}
        ),
        out=tmp_path / "run",
    )
    found = next(e.round for e in run.events if e.kind == "flocks")
    kept = {round: "memory/evidence/rows" in run.checkpoint(round) for round in run.checkpoints}
    assert found < 8 and kept == {round: round <= found for round in range(1, 9)}


def test_stable_is_over_once_it_has_acted() -> None:
    assert not WhenStable().over(state())
