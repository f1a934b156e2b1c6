"""The supervisor submits an app again until its run is over."""

import pytest

pytest.importorskip("flwr", reason="needs flockwise[flower]")

from flockwise.errors import EngineError
from flockwise.flower import Flocks, supervise, supervisor
from flockwise.flower.command import Unreachable
from flockwise.store import create_run, open_run, reopen_run
from flockwise.store.policy import CheckpointPolicy

from . import client_apps as apps
from .fake_grid import FakeGrid, FakeNode


class FakeSuperLink:
    """Stands in for the flwr command: each submission closes two rounds, then its ServerApp is gone."""

    def __init__(self, path, rounds_each=2):
        self.path, self.rounds_each, self.submitted, self.stopped, self.broken = path, rounds_each, 0, [], 0
        self.says, self.error = "", Unreachable

    def __call__(self, command, *words, home=None):
        if self.broken:
            self.broken -= 1
            raise self.error("flwr: no connection")
        if command == "run":
            self.submitted += 1
            self._work()
            return {"run-id": 100 + self.submitted}
        if command == "stop":
            self.stopped.append(words[0])
        return {"runs": [{"status": self.status(), "status-details": "exit 1\nConfigError: warmpu"}]}

    def status(self):
        done = self.rounds_each and self.submitted * self.rounds_each >= 4
        return self.says or ("finished:completed" if done else "finished:failed")

    def _work(self):
        if not self.rounds_each:
            return
        grid = FakeGrid([FakeNode(p, apps.numpy_app) for p in range(2)])
        rounds = min(self.submitted * self.rounds_each, 4)
        Flocks("fedavg", clients=2, run=self.path, evaluate_every=0).start(
            grid, apps.numpy_start(), num_rounds=rounds
        )
        if rounds < 4:  # killed: the record says running, but nobody holds the directory
            with reopen_run(self.path, CheckpointPolicy(every=1)) as writer:
                writer.about(state="running")


@pytest.fixture
def superlink(tmp_path, monkeypatch):
    found = FakeSuperLink(tmp_path / "run")
    monkeypatch.setattr(supervisor, "flwr", found)
    return found


def test_a_run_is_submitted_again_until_it_is_over(superlink):
    said = []
    found = supervise("app", "local", superlink.path, pause=0.01, say=said.append)
    assert found.state == "finished" and len(found.rounds) == 4
    assert superlink.submitted == 2 and superlink.stopped == ["101"]
    assert any("restart 1 of 5" in line for line in said)


def test_it_gives_up_after_so_many_restarts(superlink):
    superlink.rounds_each = 1
    with pytest.raises(EngineError, match="gave up after 2 restarts"):
        supervise("app", "local", superlink.path, pause=0.01, restarts=2)
    assert superlink.submitted == 3


def test_a_mistake_that_comes_again_is_told_and_not_tried_for_ever(superlink):
    superlink.rounds_each, said = 0, []
    with pytest.raises(EngineError, match="2 submissions in a row closed no round: ConfigError: warmpu"):
        supervise("app", "local", superlink.path, pause=0.01, say=said.append)
    assert superlink.submitted == 2 and "finished:failed: ConfigError: warmpu" in said[-1]


def test_a_run_that_was_there_before_does_not_stand_for_one_that_failed(superlink):
    assert supervise("app", "local", superlink.path, pause=0.01).state == "finished"
    superlink.rounds_each = 0
    with pytest.raises(EngineError, match="closed no round"):
        supervise("app", "local", superlink.path, pause=0.01)


def test_what_a_person_stops_stays_stopped(superlink):
    superlink.says = "finished:stopped"
    with pytest.raises(EngineError, match="was stopped by hand"):
        supervise("app", "local", superlink.path, pause=0.01)
    assert superlink.submitted == 1


def test_a_superlink_that_does_not_answer_for_a_while_is_waited_for(superlink, monkeypatch):
    original = FakeSuperLink.__call__

    def breaks_after_the_first_run(self, command, *words, home=None):
        answer = original(self, command, *words, home=home)
        if command == "run" and self.submitted == 1:
            self.broken = 3
        return answer

    monkeypatch.setattr(FakeSuperLink, "__call__", breaks_after_the_first_run)
    assert supervise("app", "local", superlink.path, pause=0.01).state == "finished"
    assert len(open_run(superlink.path).rounds) == 4


def test_a_superlink_that_does_not_answer_the_first_submission_is_asked_again(superlink):
    superlink.broken, said = 3, []
    assert supervise("app", "local", superlink.path, pause=0.01, say=said.append).state == "finished"
    waits = [line for line in said if "asked again in" in line]
    assert [line.rpartition("in ")[2] for line in waits] == ["0.01 s", "0.02 s", "0.04 s"]


def test_a_superlink_that_never_answers_ends_with_one_line_after_the_stated_time(superlink):
    superlink.broken = 999
    with pytest.raises(
        EngineError, match=r"^gave up: the SuperLink did not answer for 0.2 s: .*no connection$"
    ):
        supervise("app", "local", superlink.path, pause=0.01, patience=0.2)
    assert 999 - superlink.broken == 5  # 0.01 + 0.02 + 0.04 + 0.08, and no more than fit into the time


def test_a_submission_that_fails_for_another_reason_is_told_at_once(superlink):
    superlink.broken, superlink.error = 99, EngineError
    with pytest.raises(EngineError, match="no connection"):
        supervise("app", "local", superlink.path, pause=0.01)
    assert superlink.broken == 98


def test_a_run_that_another_submission_writes_is_seen_through(superlink, monkeypatch):
    """The SuperLink died when it had taken the first submission: that one runs, and the second finds the lock."""
    import threading

    def other():
        with create_run(superlink.path, {"rounds": 1}, {}, CheckpointPolicy(every=1)) as writer:
            there.set()
            done.wait(5)
            writer.commit(1, 0.1, {"participants": 2.0}, {}, [], {})
            writer.about(state="finished")

    def loses():
        work.start()
        there.wait(5)

    there, done, work = threading.Event(), threading.Event(), threading.Thread(target=other)
    monkeypatch.setattr(superlink, "_work", loses)
    superlink.says = "finished:failed"
    threading.Timer(0.8, done.set).start()
    found = supervise("app", "local", superlink.path, pause=0.01)
    work.join()
    assert found.state == "finished" and superlink.submitted == 1


def test_a_run_that_ended_without_learning_is_not_submitted_again(superlink, monkeypatch):
    import threading

    def never_learns():
        with create_run(superlink.path, {"rounds": 1}, {}, CheckpointPolicy(every=1)) as writer:
            done.wait(5)
            writer.commit(1, 0.1, {"participants": 0.0}, {}, [], {})
            writer.about(state="failed", error="no reply could be used in any round: client 0: NaN")

    done, work = threading.Event(), threading.Thread(target=never_learns)
    monkeypatch.setattr(superlink, "_work", work.start)
    superlink.says = "running"
    threading.Timer(0.5, done.set).start()
    with pytest.raises(EngineError, match="no reply could be used in any round: client 0: NaN"):
        supervise("app", "local", superlink.path, pause=0.01)
    work.join()
    assert superlink.submitted == 1
