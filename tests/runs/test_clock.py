"""Slow clients and a deadline: late replies are counted and never used, in this round or in any other."""

from pathlib import Path

import numpy as np
import pytest

import flockwise as fw
from flockwise.config import parse_config
from flockwise.errors import ConfigError, EngineError
from flockwise.messages import ROOT
from flockwise.runs.channel import Channel
from flockwise.runs.clock import make_clock
from flockwise.store import open_run
from tests.conftest import Cases

from .small import FLIC, fingerprint, with_changes

SLOW = {"slow_clients": 2, "slowness": 10.0, "dropout": 0.0}


def slow_ones() -> list[int]:
    """The clients whose usual time is ten times that of others."""
    clock = make_clock(parse_config(with_changes(faults=SLOW)), [100] * 8)
    assert clock is not None
    return np.flatnonzero(np.array(clock.usual) > 5).tolist()


def played(path: Path, rounds: int = 8, **faults: object) -> fw.Run:
    return fw.run(
        with_changes(sampling={"fraction": 1.0}, faults={**SLOW, **faults}), out=path, rounds=rounds
    )


def test_a_round_closes_at_the_deadline_and_late_replies_are_counted(tmp_path: Path, cases: Cases) -> None:
    rounds = cases.many(20)
    run = played(tmp_path / "run", rounds=rounds, deadline=2.0)
    times = run.facts["round_time"]
    for taken in times:
        cases.measure("time of a round, in deadlines", taken / 2.0)
    assert np.quantile(times, 0.99) <= 2.0 * 1.05 and times.min() > 0
    assert (
        run.facts["late"].tolist() == [2.0] * rounds and run.facts["participants"].tolist() == [6.0] * rounds
    )
    late = [event for event in run.events if event.kind == "late"]
    assert {event.client for event in late} == set(slow_ones()) and len(late) == 2 * rounds
    assert all(event.detail["took"] > 8 and "closed at 2" in event.message for event in late)


def test_what_comes_late_is_as_if_it_had_never_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    late = played(tmp_path / "late", deadline=2.0)
    gone = slow_ones()
    monkeypatch.setattr(Channel, "_loses", lambda self, client, round: client in gone)
    lost = played(tmp_path / "lost")
    for name, array in lost.checkpoint().items():
        np.testing.assert_array_equal(array, late.checkpoint()[name], err_msg=name)
    np.testing.assert_array_equal(late.array("trained")[1], lost.array("trained")[1])


def test_without_a_deadline_everybody_is_waited_for(tmp_path: Path) -> None:
    run = played(tmp_path / "run")
    assert (run.facts["round_time"] > 8).all() and run.facts["late"].tolist() == [0.0] * 8
    quick = fw.run(with_changes(sampling={"fraction": 1.0}, faults={"dropout": 0.0}), out=tmp_path / "quick")
    np.testing.assert_array_equal(run.checkpoint()["models"], quick.checkpoint()["models"])
    assert "round_time" not in quick.facts


def test_a_run_with_a_clock_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    whole = played(tmp_path / "whole", deadline=1.05)  # half of the honest are late now and then
    assert 0 < whole.facts["late"].sum() < 8 * 8
    played(tmp_path / "parts", rounds=5, deadline=1.05)
    fw.resume(tmp_path / "parts", rounds=8)
    assert open_run(tmp_path / "parts").facts["late"].tolist() == whole.facts["late"].tolist()
    assert fingerprint(tmp_path / "parts") == fingerprint(tmp_path / "whole")


def test_nobody_in_time_is_a_round_without_a_change(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="no reply could be used"):
        played(tmp_path / "run", rounds=2, deadline=0.1)
    run = open_run(tmp_path / "run")
    assert run.state == "failed" and run.facts["participants"].tolist() == [0.0, 0.0]
    assert run.facts["round_time"].tolist() == [0.1, 0.1]


def test_the_servers_own_data_is_at_hand() -> None:
    clock = make_clock(parse_config(with_changes(faults={**SLOW, "deadline": 0.1})), [100] * 8)
    assert clock is not None and clock.takes(ROOT, 1) == 0.0 and not clock.is_late(ROOT, 1)


def test_large_clients_take_longer() -> None:
    clock = make_clock(parse_config(with_changes(faults={"deadline": 1.5})), [100] * 6 + [200, 50])
    assert clock is not None and clock.usual[6:] == (2.0, 0.5)
    assert clock.is_late(6, 1) and not clock.is_late(7, 1)


def test_more_slow_clients_than_clients_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"faults\.slow_clients = 9: must be at most split\.clients = 8"):
        parse_config({**FLIC, "faults": {"slow_clients": 9}})
