"""What clients tell besides their updates: checked at the gate, there for the stages, made by simulated clients."""

from dataclasses import replace

import numpy as np
import pytest

import flockwise
from flockwise.aggregation import mean
from flockwise.engine import ClientWork, LocalEngine
from flockwise.errors import InputError
from flockwise.messages import Replies, bound
from flockwise.models import build
from flockwise.server import Server
from flockwise.stages import Method, Report, average, chain, stage, train
from flockwise.stages.report import MOST_NUMBERS
from flockwise.stages.stage import REPLIES
from flockwise.testing.fakes import FakeEngine, goals_of
from flockwise.training import Recipe

CLIENTS, DIMENSION = 5, 8
COUNTS = Report({"counts": (10,)}, lambda x, y, classes: {"counts": np.bincount(y, minlength=10)})
ENGINE = FakeEngine(goals_of([0] * CLIENTS, DIMENSION))
FINE = np.arange(10, dtype=np.float64)


def listening(report=COUNTS):
    """FedAvg whose server looks at what clients tell; and what it saw."""
    seen: list[Replies] = []

    def look(round):
        seen.append(round.replies.replies)
        return round

    return Method(chain(train(), stage("listen", look, [REPLIES]), average(mean())), report=report), seen


def told(report_of):
    """One round in which client 2 tells something of its own; the record, and what the stage saw."""
    method, seen = listening()
    server = Server(method, np.zeros((1, DIMENSION), np.float32), CLIENTS)
    fine = [replace(reply, report={"counts": FINE + reply.client}) for reply in ENGINE.replies(server.ask())]
    return server.tell(bound(replace(r, report=report_of(r)) if r.client == 2 else r for r in fine)), seen


WRONG = {
    "missing": (lambda r: {}, "report holds [], must hold ['counts']"),
    "another name": (lambda r: {"count": FINE}, "report holds ['count'], must hold ['counts']"),
    "one too many": (
        lambda r: {"counts": FINE, "secret": FINE},
        "report holds ['counts', 'secret'], must hold",
    ),
    "too short": (
        lambda r: {"counts": FINE[:9]},
        "report 'counts' is float64 (9,), must be numbers of shape (10,)",
    ),
    "a matrix": (lambda r: {"counts": FINE[None]}, "report 'counts' is float64 (1, 10), must be numbers"),
    "a list": (
        lambda r: {"counts": FINE.tolist()},
        "report 'counts' is list, must be numbers of shape (10,)",
    ),
    "words": (lambda r: {"counts": np.array(["a"] * 10)}, "report 'counts' is <U1 (10,), must be numbers"),
    "objects": (
        lambda r: {"counts": FINE.astype(object)},
        "report 'counts' is object (10,), must be numbers",
    ),
    "NaN": (
        lambda r: {"counts": np.where(FINE == 3, np.nan, FINE)},
        "report 'counts' holds NaN or infinite values",
    ),
    "infinite": (
        lambda r: {"counts": np.where(FINE == 3, np.inf, FINE)},
        "report 'counts' holds NaN or infinite",
    ),
    "no mapping": (lambda r: [FINE], "report holds list, must hold ['counts']"),
    "nothing": (lambda r: None, "report holds NoneType, must hold ['counts']"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_report_is_rejected_with_its_reply_and_the_reason(kind):
    report_of, reason = WRONG[kind]
    record, seen = told(report_of)
    (event,) = record.events
    assert (event.kind, event.client) == ("rejected", 2) and reason in event.message
    assert not record.arrays["trained"][2] and record.arrays["trained"].sum() == 4
    assert seen[0].clients.tolist() == [0, 1, 3, 4]
    assert seen[0].reports["counts"].tolist() == [(FINE + client).tolist() for client in (0, 1, 3, 4)]


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.float32])
def test_right_reports_are_there_by_client_whatever_kind_of_number(dtype):
    record, seen = told(lambda reply: {"counts": (FINE + 7).astype(dtype)})
    assert record.events == ()
    assert seen[0].reports["counts"].shape == (CLIENTS, 10)
    assert seen[0].reports["counts"][2].tolist() == (FINE + 7).tolist()


def test_columns_are_checked_like_single_replies():
    method, seen = listening()
    server = Server(method, np.zeros((1, DIMENSION), np.float32), CLIENTS)
    columns = replace(ENGINE.train(server.ask()), reports={"counts": np.tile(FINE, (CLIENTS, 1))})
    columns.reports["counts"][1, 4] = np.nan
    record = server.tell(columns)
    assert [(event.client, event.message) for event in record.events] == [
        (1, "reply rejected: report 'counts' holds NaN or infinite values")
    ]
    assert seen[0].clients.tolist() == [0, 2, 3, 4] and seen[0].reports["counts"].shape == (4, 10)
    again = server.tell(ENGINE.train(server.ask()))
    assert len(again.events) == CLIENTS + 1, "everyone's is missing, and the round is skipped"


def test_a_method_that_asks_for_nothing_does_not_mind_what_it_is_told():
    server = Server(listening(None)[0], np.zeros((1, DIMENSION), np.float32), CLIENTS)
    replies = [replace(reply, report={"x": "y"}) for reply in ENGINE.replies(server.ask())]
    assert server.tell(bound(replies)).events == ()


@pytest.mark.parametrize("shapes", [{}, {"a": (0,)}, {"a": (MOST_NUMBERS,), "b": (1,)}])
def test_a_report_of_nothing_or_of_too_much_cannot_be_asked_for(shapes):
    with pytest.raises(InputError, match=rf"report: .* numbers; must be from 1 to {MOST_NUMBERS}"):
        Report(shapes, lambda x, y, classes: {})


def digits(report, workers):
    federation = flockwise.splits.label_swap(flockwise.data.digits(), clients=CLIENTS, groups=2, seed=1)
    work = ClientWork(federation, build("softmax", (1, 8, 8), 10, seed=0), Recipe(1, 32, 0.1), report=report)
    return work, LocalEngine(work, workers)


@pytest.mark.parametrize("workers", [1, 2])
def test_simulated_clients_make_their_reports_from_their_training_data(workers):
    several = Report(
        {"counts": (10,), "mean": (8, 8)},
        lambda x, y, classes: {"counts": np.bincount(y, minlength=classes), "mean": x.mean(axis=0)[..., 0]},
    )
    work, engine = digits(several, workers)
    method, seen = listening(several)
    server = Server(method, work.first, CLIENTS)
    try:
        for _ in range(2):
            assert server.tell(engine.train(server.ask())).events == ()
    finally:
        engine.close()
    for client in range(CLIENTS):
        x, y = work.data(client, "train", 1)
        assert seen[1].reports["counts"][client].tolist() == np.bincount(y, minlength=10).tolist()
        np.testing.assert_allclose(seen[1].reports["mean"][client], several.make(x, y, 10)["mean"], rtol=1e-6)


def test_a_simulated_client_that_makes_another_shape_than_agreed_is_rejected():
    wrong = Report({"counts": (10,)}, lambda x, y, classes: {"counts": np.zeros(3)})
    work, engine = digits(wrong, 1)
    server = Server(listening(wrong)[0], work.first, CLIENTS)
    record = server.tell(engine.train(server.ask()))
    assert sum("report 'counts' holds NaN" in event.message for event in record.events) == CLIENTS


def test_a_whole_run_with_reports_goes_on_to_the_same_bits(tmp_path):
    clients = flockwise.splits.label_swap(flockwise.data.digits(), clients=CLIENTS, groups=2, seed=1)
    setting = {
        "model": flockwise.models.softmax,
        "rounds": 4,
        "checkpoint": {"every": 1},
        "engine": flockwise.Local(1),
    }
    whole = flockwise.run(listening()[0], clients, out=tmp_path / "whole", **setting)
    method, seen = listening()
    stopped = flockwise.run(method, clients, out=tmp_path / "run", stop=lambda: True, **setting)
    assert stopped.state == "stopped" and seen[0].reports["counts"].shape == (CLIENTS, 10)
    flockwise.resume(tmp_path / "run", clients=clients, model=flockwise.models.softmax, method=listening()[0])
    ended = flockwise.open_run(tmp_path / "run")
    assert ended.checkpoint()["models"].tobytes() == whole.checkpoint()["models"].tobytes()
