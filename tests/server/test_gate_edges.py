"""The gate at its bounds: what is just allowed enters, what is just not does not, by columns and one by one alike."""

from dataclasses import replace

import numpy as np
import pytest

from flockwise.messages import Plan, Replies, Reply, Scores, Task, Vouched, bound
from flockwise.server import Gate
from flockwise.server.gate import LONGEST, Verdict
from flockwise.stages.report import Report

D = 4
PLAN = Plan(3, "train", np.zeros((2, D), np.float32), (Task(0), Task(1, (0, 1)), Task(2)))
SCORING = replace(PLAN, kind="validate", tasks=(Task(0, (0, 1)), Task(1, (0, 1))))
GATE = Gate(D, max_norm=2.0, max_samples=100)


def update(length: float) -> np.ndarray:
    return np.array([length, 0, 0, 0], np.float32)


def replies(*changes: dict[str, object]) -> list[Reply]:
    """Good answers of clients 0, 1, 2, each with what is to be different."""
    return [replace(Reply(client, 3, update(1.0), 10), **change) for client, change in enumerate(changes)]


def both(gate: Gate, answers: list[Reply], plan: Plan = PLAN) -> Verdict:
    """The verdict, which must be the same for single replies and for columns."""
    single = gate.admit(plan, bound(answers))
    columns = gate.admit(plan, stacked(answers))
    assert single.rejected == columns.rejected
    assert single.admitted.clients.tolist() == columns.admitted.clients.tolist()
    assert single.admitted.updates.tobytes() == columns.admitted.updates.tobytes()
    assert single.admitted.samples.tolist() == columns.admitted.samples.tolist()
    return columns


def stacked(answers: list[Reply]) -> Replies:
    return replace(Replies.stack(3, answers, D), round=answers[0].round)


def reasons(verdict: Verdict) -> dict[int | None, str]:
    return dict(verdict.rejected)


@pytest.mark.parametrize(
    "good",
    [
        {"update": update(2.0)}, {"update": update(1.9990001)}, {"update": update(0.0)}, {"samples": 1}, {"samples": 100},
        {"chosen": 0},
    ],
)  # fmt: skip
def test_what_is_just_allowed_enters(good: dict[str, object]) -> None:
    verdict = both(GATE, replies({}, good, {}))
    assert verdict.rejected == () and verdict.admitted.clients.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "bad, reason",
    [
        ({"update": update(np.nextafter(np.float32(2), np.float32(3)))}, "norm 2; at most 2"),
        ({"update": update(2.5)}, "norm 2.5; at most 2"), ({"update": update(np.nan)}, "NaN"),
        ({"update": update(np.inf)}, "infinite"), ({"samples": 0}, "claims 0 samples; 1 to 100"),
        ({"samples": 101}, "claims 101 samples; 1 to 100"), ({"chosen": 2}, "candidate 2 of 2"),
        ({"chosen": -1}, "candidate -1 of 2"),
    ],
)  # fmt: skip
def test_what_is_just_not_allowed_does_not(bad: dict[str, object], reason: str) -> None:
    verdict = both(GATE, replies({}, bad, {}))
    assert list(reasons(verdict)) == [1] and reason in reasons(verdict)[1]
    assert verdict.admitted.clients.tolist() == [0, 2]


def test_the_first_and_the_last_are_looked_at_too() -> None:
    verdict = both(GATE, replies({"samples": 0}, {}, {"update": update(3.0)}))
    assert list(reasons(verdict)) == [0, 2] and verdict.admitted.clients.tolist() == [1]


def test_a_client_is_offered_its_own_models_and_no_more() -> None:
    verdict = both(GATE, replies({"chosen": 1}, {"chosen": 1}, {}))
    assert reasons(verdict) == {0: "trained candidate 1 of 1"}


def test_columns_that_all_may_enter_are_not_copied() -> None:
    whole = stacked(replies({}, {"chosen": 1}, {}))
    assert GATE.admit(PLAN, whole).admitted is whole
    few = stacked(replies({}, {}))
    assert GATE.admit(PLAN, few).admitted is few
    near = stacked(replies({}, {"update": update(1.9995)}))
    assert GATE.admit(PLAN, near).admitted is near, "looked at one by one, and still not copied"


def test_columns_are_let_in_at_once_if_nothing_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    fault = Gate._fault
    monkeypatch.setattr(Gate, "_fault", lambda self, *a: (looked.append(a[2]), fault(self, *a))[1])
    GATE.admit(PLAN, stacked(replies({"samples": 1}, {"chosen": 1}, {"samples": 100})))
    assert looked == []
    GATE.admit(PLAN, stacked(replies({}, {"samples": 101}, {})))
    assert looked == [0, 1, 2]


def test_columns_of_nobody_another_round_or_another_order() -> None:
    nobody = Replies.stack(3, (), D)
    assert len(GATE.admit(PLAN, nobody).admitted) == 0
    late = GATE.admit(PLAN, replace(stacked(replies({}, {})), round=2))
    assert len(late.admitted) == 0 and set(reasons(late).values()) == {"answers round 2, this is round 3"}
    backwards = both(GATE, replies({}, {}, {})[::-1])
    assert backwards.admitted.clients.tolist() == [0, 1, 2] and backwards.rejected == ()
    twice = both(GATE, [*replies({}, {}), Reply(1, 3, update(0.5), 7)])
    assert reasons(twice) == {1: "answered twice; the first answer counts"}
    assert twice.admitted.samples.tolist() == [10, 10]
    stranger = both(GATE, [*replies({}), Reply(9, 3, update(0.5), 7)])
    assert reasons(stranger) == {9: "was not asked"}


@pytest.mark.parametrize(
    "wrong", [np.zeros((2, D), np.float64), np.zeros((2, D + 1), np.float32), np.zeros((3, D), np.float32)]
)
def test_columns_of_another_layout_are_turned_away_as_a_whole(wrong: np.ndarray) -> None:
    verdict = GATE.admit(PLAN, replace(stacked(replies({}, {})), updates=wrong))
    assert len(verdict.admitted) == 0 and verdict.admitted.updates.shape == (0, D)
    ((who, why),) = verdict.rejected
    assert who is None and "not float32 (.., 4)" in why


def test_counts_that_are_no_whole_numbers_are_not_let_in_at_once() -> None:
    odd = replace(stacked(replies({}, {})), samples=np.array([10.0, 10.0]))
    assert not GATE._all_may_enter(PLAN, odd)
    assert GATE._all_may_enter(PLAN, replace(odd, samples=np.array([10, 10], np.uint8)))


def test_without_a_bound_of_ones_own_there_is_still_one() -> None:
    free = Gate(D)
    assert both(free, replies({"update": update(1e14)})).rejected == ()
    assert both(free, replies({"update": update(LONGEST)})).rejected == ()
    assert "at most 1e+15" in reasons(both(free, replies({"update": update(1.0001 * LONGEST)})))[0]
    assert "at most 1e+15" in reasons(both(free, replies({"update": update(2e15)})))[0]
    assert "at most 1e+15" in reasons(both(Gate(D, max_norm=1e30), replies({"update": update(2e15)})))[0]
    assert free.max_samples == 10_000_000


def test_a_long_update_is_measured_whole() -> None:
    size = 3 << 16
    plan = replace(PLAN, models=np.zeros((2, size), np.float32))
    for place in (0, (1 << 16) - 1, 1 << 16, size - 1):
        long = np.zeros(size, np.float32)
        long[place] = 3.0
        (who,) = Gate(size, max_norm=2.0).admit(plan, [(0, Reply(0, 3, long, 1))]).rejected
        assert who[0] == 0 and "norm 3" in who[1]
    spread = np.full(size, 0.01, np.float32)
    assert "norm 4.434" in Gate(size, max_norm=2.0).admit(plan, [(0, Reply(0, 3, spread, 1))]).rejected[0][1]


def test_reports_are_asked_for_and_looked_at_in_columns_too() -> None:
    gate = replace(GATE, report=Report({"size": (2,)}, lambda *_: {}))
    told = [replace(r, report={"size": np.array([1.0, 2.0])}) for r in replies({}, {})]
    columns = Replies.stack(3, told, D, ("size",))
    assert gate.admit(PLAN, columns).rejected == () and gate.admit(PLAN, columns).admitted is columns
    single = gate.admit(PLAN, bound(told)).admitted
    assert single.reports["size"].tolist() == [[1.0, 2.0], [1.0, 2.0]]
    bad = replace(columns, reports={"size": np.array([[1.0, np.nan], [1.0, 2.0]])})
    assert list(reasons(gate.admit(PLAN, bad))) == [0]
    assert list(reasons(gate.admit(PLAN, replace(columns, reports={})))) == [0, 1]


@pytest.mark.parametrize(
    "answer",
    [(0,), (0, replies({})[0], 1), [0, replies({})[0]], replies({})[0], None, 5, ()],
)  # fmt: skip
def test_what_is_no_pair_is_nobodys(answer: object) -> None:
    verdict = GATE.admit(PLAN, [answer])  # type: ignore[list-item]
    assert len(verdict.admitted) == 0 and len(verdict.rejected) == 1
    assert verdict.rejected[0][0] is None


def test_columns_are_no_answer_to_a_question_for_scores() -> None:
    verdict = GATE.admit(SCORING, stacked(replies({}, {})))
    assert verdict.admitted == () and len(verdict.rejected) == 1 and verdict.rejected[0][0] is None


@pytest.mark.parametrize("client", [True, np.timedelta64(0, "s"), 0.0, "0", None])
def test_a_client_is_a_whole_number(client: object) -> None:
    ((who, why),) = GATE.admit(PLAN, [(client, replies({})[0])]).rejected  # type: ignore[list-item]
    assert who is None and why == "was not asked"
    assert GATE.admit(PLAN, [(np.int64(0), replies({})[0])]).rejected == ()


def test_the_servers_own_data_comes_from_whoever_is_vouched_for() -> None:
    plan = replace(PLAN, tasks=(Task(-1), Task(0)))
    own = Reply(-1, 3, update(1.0), 5)
    assert GATE.admit(plan, [(-1, own)]).rejected == ((-1, "was not asked"),)
    assert GATE.admit(plan, Vouched([(-1, own)])).rejected == ()
    assert GATE.admit(plan, [(0, replies({})[0])]).rejected == ()


@pytest.mark.parametrize("round", [True, 3.0, None, "3", np.timedelta64(3, "s")])
def test_a_round_is_a_whole_number(round: object) -> None:
    ((who, why),) = GATE.admit(PLAN, bound([replace(replies({})[0], round=round)])).rejected
    assert who == 0 and why.startswith("answers round")


SCORE = Scores(0, 3, (0.5, 0.25), 10, (0.1, 0.2), (0.4, 0.6))


@pytest.mark.parametrize(
    "good",
    [
        {}, {"samples": 0}, {"samples": 100}, {"losses": ()}, {"shares": ()}, {"values": (0.0, 1.0)}, {"shares": (0.0, 1.0)},
        {"values": (np.nan, np.nan)}, {"losses": (np.nan, np.inf)},
    ],
)  # fmt: skip
def test_scores_that_are_just_right_enter(good: dict[str, object]) -> None:
    score = replace(SCORE, **good)
    assert GATE.admit(SCORING, bound([score])).admitted == (score,)


@pytest.mark.parametrize(
    "bad, reason",
    [
        ({"samples": -1}, "claims -1 samples"), ({"samples": 101}, "claims 101 samples"), ({"samples": 1.0}, "claims 1.0"),
        ({"values": (0.5,)}, "a tuple of 2"), ({"values": (0.5, 0.5, 0.5)}, "a tuple of 2"),
        ({"values": ()}, "a tuple of 2"),
        ({"values": (np.nan, 0.5)}, "some models only"), ({"values": (0.5, np.nan)}, "some models only"),
        ({"values": (1.01, 0.5)}, "between 0 and 1"), ({"values": (0.5, -0.01)}, "between 0 and 1"),
        ({"losses": (0.1,)}, "losses must be a tuple"), ({"losses": [0.1, 0.2]}, "losses must be a tuple"),
        ({"losses": (0.1, 1)}, "losses must be numbers"), ({"losses": ("x", 0.1)}, "losses must be numbers"),
        ({"shares": (1.0,)}, "shares must be a tuple"), ({"shares": [0.5, 0.5]}, "shares must be a tuple"),
        ({"shares": (0.5, 1.01)}, "between 0 and 1"), ({"shares": (-0.01, 0.5)}, "between 0 and 1"),
        ({"shares": (0.5, 1)}, "between 0 and 1"), ({"shares": (np.nan, 0.5)}, "between 0 and 1"),
    ],
)  # fmt: skip
def test_scores_that_are_just_wrong_do_not(bad: dict[str, object], reason: str) -> None:
    ((who, why),) = GATE.admit(SCORING, bound([replace(SCORE, **bad)])).rejected
    assert who == 0 and reason in why


def test_scores_come_in_the_order_of_clients_and_once() -> None:
    first, second = replace(SCORE, client=1), replace(SCORE, samples=7)
    verdict = GATE.admit(SCORING, bound([first, SCORE, second]))
    assert verdict.admitted == (SCORE, first) and reasons(verdict) == {
        0: "answered twice; the first answer counts"
    }
