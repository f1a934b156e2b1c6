"""A few inputs for every decoder, the same every time; `python -m tests.reliability.fuzz` tries many more."""

import zlib
from pathlib import Path

import pytest

pytest.importorskip("flwr", reason="needs flockwise[flower]")
pytest.importorskip("starlette", reason="needs flockwise[dashboard]")

from flockwise.store import looking, open_run
from tests.conftest import Cases
from tests.reliability.fuzz.decoders.run_directory import LOOK, Cells, cells, placed
from tests.reliability.fuzz.mutating import mutated
from tests.reliability.fuzz.target import Target, all_targets
from tests.reliability.fuzz.trying import Trying, trying

TARGETS = all_targets()


@pytest.mark.parametrize("name", TARGETS)
def test_hostile_bytes_are_a_value_or_a_line(name: str, cases: Cases) -> None:
    target = TARGETS[name]
    with trying(target) as tried:
        for data in mutated(target.seeds(), cases.many(target.quick)):
            tried(data)
    assert not tried.findings, tried.findings


def test_a_connection_that_is_kept_gives_every_look_its_own_time_and_leaves_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(looking.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(looking, "_OFTEN", 1)  # the clock is looked at in every step
    cells()
    path = placed(tmp_path)
    cell = Cells(path)
    for _ in range(3):
        now[0] += 2 * looking.PATIENCE  # longer than one look may take has gone by since the one before
        with LOOK.shared():
            assert open_run(path).rounds.tolist() == [1, 2]
        cell.put("facts", 2, 0.5)  # would find the database locked
    LOOK.forget()
    cell.database.close()


def test_an_input_that_broke_a_promise_can_be_tried_again(tmp_path: Path) -> None:
    def decode(data: bytes, folder: Path) -> object:
        raise KeyError(len(data))

    tried = Trying(Target("any", decode, list, (), False, 1), tmp_path)
    for data in (b"short", bytes(9_000) + b"long"):
        tried.findings.clear()
        tried(data)
        (found,) = tried.findings.values()
        whole = (
            bytes.fromhex(found["input"])
            if "input" in found
            else zlib.decompress(bytes.fromhex(found["deflated"]))
        )
        assert whole == data
