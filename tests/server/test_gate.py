"""Every hostile reply is turned away with a reason, and the round goes on without it."""

from dataclasses import replace

import numpy as np
import pytest

from flockwise.messages import Plan, Reply, Scores, Task, bound, number
from flockwise.server import Gate
from flockwise.testing.fakes import FakeEngine, goals_of, round_of
from tests.server.methods import make_server

CLIENTS, DIMENSION = 6, 24


def with_update(change):
    return lambda reply: replace(reply, update=change(reply.update))


def spiked(value):
    def change(update):
        update = update.copy()
        update[3] = value
        return update

    return change


HOSTILE = {
    "nan": (with_update(spiked(np.nan)), "NaN"),
    "infinite": (with_update(spiked(-np.inf)), "infinite"),
    "overflowing": (with_update(lambda u: u * np.float32(0) + np.float32(3e38)), "norm"),
    "too long": (with_update(lambda u: u * 1000), "norm"),
    "wrong shape": (with_update(lambda u: u[:-1]), "shape"),
    "a matrix": (with_update(lambda u: u[None]), "shape"),
    "empty": (with_update(lambda u: u[:0]), "shape"),
    "wrong dtype": (with_update(lambda u: u.astype(np.float64)), "dtype"),
    "objects": (with_update(lambda u: u.astype(object)), "dtype"),
    "complex": (with_update(lambda u: u.astype(np.complex64)), "dtype"),
    "a list": (with_update(lambda u: u.tolist()), "list"),
    "a masked array": (with_update(lambda u: np.ma.masked_array(u, mask=u > 0)), "MaskedArray"),
    "times": (with_update(lambda u: u.astype("timedelta64[s]")), "dtype"),
    "dates": (with_update(lambda u: u.astype("datetime64[s]")), "dtype"),
    "a time as a count": (lambda r: replace(r, samples=np.timedelta64(3, "s")), "samples"),
    "a masked count": (lambda r: replace(r, samples=np.ma.masked), "samples"),
    "a time as a choice": (lambda r: replace(r, chosen=np.timedelta64(0, "s")), "candidate"),
    "no update": (with_update(lambda u: None), "NoneType"),
    "no samples": (lambda r: replace(r, samples=0), "samples"),
    "negative samples": (lambda r: replace(r, samples=-5), "samples"),
    "a lying count": (lambda r: replace(r, samples=10**12), "samples"),
    "a fractional count": (lambda r: replace(r, samples=2.5), "samples"),
    "an infinite count": (lambda r: replace(r, samples=float("inf")), "samples"),
    "a true count": (lambda r: replace(r, samples=True), "samples"),
    "the last round": (lambda r: replace(r, round=r.round - 1), "round"),
    "a later round": (lambda r: replace(r, round=r.round + 7), "round"),
    "no round": (lambda r: replace(r, round=None), "round"),
    "a model it was not offered": (lambda r: replace(r, chosen=4), "candidate"),
    "a negative choice": (lambda r: replace(r, chosen=-1), "candidate"),
    "somebody unknown": (lambda r: replace(r, client=99), "was not asked"),
    "the server's own data": (lambda r: replace(r, client=-1), "was not asked"),
    "a name for a number": (lambda r: replace(r, client="2"), "was not asked"),
    "a fractional client": (lambda r: replace(r, client=2.0), "was not asked"),
    "scores instead": (lambda r: Scores(r.client, r.round, (1.0,), 5), "not a Reply"),
    "a dictionary": (lambda r: {"client": 2}, "not a Reply"),
    "nothing": (lambda r: None, "not a Reply"),
}


@pytest.mark.parametrize("kind", list(HOSTILE))
def test_a_hostile_reply_changes_nothing_and_the_reason_is_on_record(kind):
    spoil, reason = HOSTILE[kind]
    engine = FakeEngine(goals_of([0] * CLIENTS, DIMENSION))
    server = make_server("fedavg", CLIENTS, DIMENSION, gate=Gate(DIMENSION, max_norm=100.0))
    clean = make_server("fedavg", CLIENTS, DIMENSION)
    record = round_of(server, engine, lambda replies: [spoil(r) if r.client == 2 else r for r in replies])
    round_of(clean, engine, lambda replies: [r for r in replies if r.client != 2])
    rejected = [event for event in record.events if event.kind == "rejected"]
    assert len(rejected) == 1 and reason in rejected[0].message
    assert server.round == 1
    assert server.state.models.tobytes() == clean.state.models.tobytes()


@pytest.mark.parametrize(
    "loss", [np.timedelta64(3, "s"), np.ma.masked, "low", object(), 10**400, 1j, np.complex64(2j), None, [1]]
)
def test_a_loss_that_is_no_number_counts_as_not_told(loss):
    engine = FakeEngine(goals_of([0] * CLIENTS, DIMENSION))
    server = make_server("fedavg", CLIENTS, DIMENSION)
    record = round_of(server, engine, lambda rs: [replace(r, loss=loss, hour=loss, user=loss) for r in rs])
    assert server.round == 1 and np.isnan(record.arrays["loss"]).all()


def test_the_first_of_two_answers_counts():
    engine = FakeEngine(goals_of([0] * CLIENTS, DIMENSION))
    server, clean = (make_server("fedavg", CLIENTS, DIMENSION) for _ in range(2))
    record = round_of(server, engine, lambda rs: [*rs, replace(rs[1], update=rs[1].update * 50)])
    round_of(clean, engine)
    assert "answered twice" in record.events[0].message and record.events[0].client == 1
    assert server.state.models.tobytes() == clean.state.models.tobytes()


def test_the_order_of_replies_does_not_matter():
    engine = FakeEngine(goals_of([0] * CLIENTS, DIMENSION))
    server, clean = (make_server("fedavg", CLIENTS, DIMENSION) for _ in range(2))
    round_of(server, engine, lambda replies: replies[::-1])
    round_of(clean, engine)
    assert server.state.models.tobytes() == clean.state.models.tobytes()


def test_a_client_that_was_not_asked_this_round_is_turned_away():
    engine = FakeEngine(goals_of([0] * 10, DIMENSION))
    server = make_server("fedavg", 10, DIMENSION, fraction=0.3)
    asked = {task.client for task in server.ask().tasks}
    stranger = next(client for client in range(10) if client not in asked)
    forged = Reply(stranger, 1, np.zeros(DIMENSION, np.float32), 5)
    record = round_of(server, engine, lambda replies: [*replies, forged])
    assert [(e.client, e.message) for e in record.events] == [(stranger, "reply rejected: was not asked")]


def test_a_large_but_allowed_count_weighs_no_more_than_five_medians():
    engine = FakeEngine(goals_of([0] * CLIENTS, DIMENSION))
    start = make_server("fedavg", CLIENTS, DIMENSION)
    before = start.state.models[0].astype(np.float64)

    def lie(replies):
        return [replace(r, samples=9_000_000 if r.client == 0 else 10) for r in replies]

    updates = np.stack([r.update for r in engine.replies(start.ask())]).astype(np.float64)
    round_of(start, engine, lie)
    weights = np.array([50.0, 10, 10, 10, 10, 10])
    expected = before + weights @ updates / weights.sum()
    np.testing.assert_allclose(start.state.models[0], expected, rtol=1e-5)


SCORES = Plan(3, "validate", np.zeros((2, 4), np.float32), (Task(0, (0, 1)), Task(1, (0, 1))))


@pytest.mark.parametrize(
    "score, reason",
    [
        (Scores(0, 3, (0.5,), 5), "tuple of 2"),
        (Scores(0, 3, [0.5, 0.5], 5), "tuple of 2"),  # type: ignore[arg-type]
        (Scores(0, 3, (0.5, 1.5), 5), "between 0 and 1"),
        (Scores(0, 3, (0.5, "1"), 5), "between 0 and 1"),  # type: ignore[arg-type]
        (Scores(0, 3, (0.5, float("nan")), 5), "missing for some"),
        (Scores(0, 3, (0.5, 0.5), -1), "samples"),
        (Scores(0, 3, (0.5, 0.5), 5, (0.1,)), "losses"),
        (Scores(0, 3, (0.5, 0.5), 5, (0.1, None)), "losses"),  # type: ignore[arg-type]
        (Scores(0, 2, (0.5, 0.5), 5), "round"),
        (Scores(7, 3, (0.5, 0.5), 5), "was not asked"),
        (Reply(0, 3, np.zeros(4, np.float32), 5), "not a Scores"),
    ],
)
def test_hostile_scores_are_turned_away(score, reason):
    verdict = Gate(4).admit(SCORES, bound([score, Scores(1, 3, (0.1, 0.2), 5)]))
    assert [s.client for s in verdict.admitted] == [1]
    assert len(verdict.rejected) == 1 and reason in verdict.rejected[0][1]


def test_a_client_without_validation_data_may_say_so():
    nothing = Scores(0, 3, (float("nan"), float("nan")), 0)
    assert Gate(4).admit(SCORES, bound([nothing])).admitted == (nothing,)


def test_a_liar_in_a_flock_of_small_clients_is_held_to_the_median_of_that_flock():
    """The cap was five medians of the round, and a liar among clients of few samples had nearly all of their mean."""
    groups = [0, 0, 0, 1, 1, 1]
    engine = FakeEngine(goals_of(groups, DIMENSION), groups=groups)
    server = make_server("oracle", CLIENTS, DIMENSION)
    counts = {0: 9_000_000, 2: 10, 4: 10, 1: 5000, 3: 5000, 5: 5000}  # 0, 2 and 4 are a flock of the oracle's
    before = server.state.models.astype(np.float64)
    updates = {r.client: r.update.astype(np.float64) for r in engine.replies(server.ask())}
    round_of(server, engine, lambda rs: [replace(r, samples=counts[r.client]) for r in rs])
    flock = int(server.state.labels[0])
    assert server.state.labels.tolist() == [flock, 1 - flock] * 3
    expected = (
        before[min(flock, len(before) - 1)] + (50 * updates[0] + 10 * updates[2] + 10 * updates[4]) / 70
    )
    np.testing.assert_allclose(server.state.models[flock], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"client": np.array([0, 0])}, "says that it comes from client [0 0]"),
        ({"client": 10**5000}, "says that it comes from client a number of thousands of digits"),
        ({"samples": 10**5000}, "claims a number of thousands of digits samples"),
        ({"round": 10**5000}, "answers round a number of thousands of digits"),
        ({"chosen": 10**5000}, "trained candidate a number of thousands of digits"),
    ],
)
def test_numbers_that_python_does_not_write_out_are_turned_away_like_others(change, said):
    server = make_server("fedavg", CLIENTS, DIMENSION)
    reply = replace(Reply(0, server.ask().round, np.ones(DIMENSION, np.float32), 5), **change)
    record = server.tell([(0, reply)])
    assert said in record.events[0].message


@pytest.mark.filterwarnings("error")
def test_numbers_of_any_kind_are_read_without_a_warning():
    assert number(np.float16(2)) == 2.0 and np.isnan(number(10**400)) and np.isnan(number(np.float64(1e200)))
