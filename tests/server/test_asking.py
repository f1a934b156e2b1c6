"""Asking, telling, and what a person or an error does in between."""

from dataclasses import replace

import numpy as np
import pytest

from flockwise.aggregation import mean
from flockwise.errors import PluginError
from flockwise.messages import Plan, Reply, bound
from flockwise.stages import FREE, QUARANTINED, UNPLACED, Method, average, chain, place, stage, train
from flockwise.stages.place import scoring_plan
from flockwise.stages.stage import Stage, ask
from flockwise.strategies import STRATEGIES, fedavg, flic
from flockwise.testing.fakes import FakeEngine, goals_of, round_of
from tests.server.methods import make_server

GROUPS, DIMENSION = [0, 1] * 5, 24
ENGINE = FakeEngine(goals_of(GROUPS, DIMENSION), groups=GROUPS)


def clients_of(plan: Plan) -> list[int]:
    return [task.client for task in plan.tasks]


def present(*away):
    return ~np.isin(np.arange(len(GROUPS)), away)


def bits(server):
    return {name: array.tobytes() for name, array in server.state.to_arrays().items()}


@pytest.mark.parametrize("name", list(STRATEGIES))
def test_the_same_clients_present_give_the_same_plan_object(name):
    server = make_server(name, len(GROUPS), DIMENSION)
    for _ in range(4):
        plan = server.ask(present=present(2, 7))
        assert server.ask(present=present(2, 7)) is plan, "an equal mask, not the same object"
        assert not {2, 7} & set(clients_of(plan))
        round_of(server, ENGINE)


def test_others_present_before_telling_give_a_new_plan():
    server = make_server("fedavg", len(GROUPS), DIMENSION)
    everyone = server.ask()
    some = server.ask(present=present(0))
    assert clients_of(everyone) == list(range(10)) and clients_of(some) == list(range(1, 10))
    assert server.ask(present=present(0, 1)) is not some
    assert clients_of(server.ask()) == list(range(10)), "everyone, if nothing is said"


def test_a_mask_that_is_changed_afterwards_does_not_change_the_plan():
    server = make_server("fedavg", len(GROUPS), DIMENSION)
    here = present(3)
    plan = server.ask(present=here)
    here[:] = False
    assert server.ask(present=present(3)) is plan


def test_replies_of_clients_that_were_away_are_turned_away():
    server = make_server("fedavg", len(GROUPS), DIMENSION)
    everyone = ENGINE.replies(server.ask())
    server.ask(present=present(4))
    record = server.tell(bound(everyone))
    assert [(event.kind, event.client) for event in record.events] == [("rejected", 4)]
    assert record.arrays["trained"].tolist() == present(4).tolist()


def test_a_round_in_which_nobody_is_there_is_skipped():
    server = make_server("flic", len(GROUPS), DIMENSION)
    before = server.state.models.tobytes()
    assert server.ask(present=np.zeros(10, bool)).tasks == ()
    assert [event.kind for event in server.tell([]).events] == ["skipped"]
    assert server.state.models.tobytes() == before and server.round == 1


def test_who_is_there_does_not_matter_once_the_round_has_heard_from_somebody():
    server = make_server("flic", len(GROUPS), DIMENSION, options={"warmup": 2, "follow": 0.1})
    while True:
        plan = server.ask(present=present(1))
        if server.tell(bound(ENGINE.replies(plan))) is None:
            break
    asked = server.ask(present=present(0, 1, 2))
    assert asked.kind == "validate"
    assert server.ask() is asked


class Fails(Exception):
    """What a user's own code raises."""


def failing_once(at_call):
    calls = []

    def rule(updates):
        calls.append(len(updates))
        if len(calls) == at_call:
            raise Fails("no more memory")
        return updates.mean(axis=0)

    return rule


@pytest.mark.parametrize("strategy", [fedavg, flic], ids=lambda piece: piece.name)
def test_a_round_whose_rule_failed_can_be_asked_again_from_the_state_before_it(strategy):
    options = {} if strategy is fedavg else {"warmup": 2}
    fails, works = (make_server(strategy(rule=failing_once(n), **options), 10, DIMENSION) for n in (3, 10**9))
    for server in (fails, works):
        round_of(server, ENGINE)
        round_of(server, ENGINE)
    before, state = bits(fails), fails.state
    plan = fails.ask()
    with pytest.raises(PluginError, match="raised Fails: no more memory"):
        fails.tell(ENGINE.train(plan))
    assert fails.state is state and bits(fails) == before and fails.round == 2
    again = fails.ask()
    assert again is not plan and (again.tasks, again.models.tobytes()) == (plan.tasks, plan.models.tobytes())
    for _ in range(3):
        round_of(fails, ENGINE)
        round_of(works, ENGINE)
    assert bits(fails) == bits(works)


def test_what_was_done_by_hand_in_a_round_that_failed_can_be_undone_before_it_is_tried_again():
    """Validation answers come between: the round is under way when the person acts."""

    def breaks(round):
        raise Fails("after the question")

    once = iter([True])
    fragile = stage("fragile", lambda round: breaks(round) if next(once, False) else round)
    method = Method(chain(train(), average(mean()), _asks_everyone(), fragile))
    server = make_server(method, 10, DIMENSION)
    assert server.tell(ENGINE.train(server.ask())) is None
    server.quarantine(3)
    with pytest.raises(Fails):
        server.tell(bound(ENGINE.validate(server.ask())))
    assert server.state.apart[3] == QUARANTINED
    server.release(3)
    round_of(server, ENGINE)
    assert server.state.apart[3] == FREE and server.state.labels[3] != UNPLACED


def _asks_everyone():
    """A stage that asks a question and does nothing with the answer."""

    def run(round):
        round, _ = yield from ask(round, scoring_plan(round, round.state.models[:1], range(10)))
        return round

    return Stage("question", run)


def test_a_client_set_apart_between_asking_and_telling_takes_no_part():
    server = make_server("fedavg", len(GROUPS), DIMENSION)
    replies = ENGINE.replies(server.ask())
    server.quarantine(6)
    record = server.tell(bound(replies))
    assert [(event.kind, event.client) for event in record.events] == [("rejected", 6)]
    assert server.state.apart[6] == QUARANTINED and server.state.labels[6] == UNPLACED
    assert 6 not in clients_of(server.ask())


def test_a_client_released_between_asking_and_telling_is_asked_in_the_next_round():
    server = make_server("fedavg", len(GROUPS), DIMENSION)
    server.quarantine(6)
    plan = server.ask()
    server.release(6)
    assert server.ask() is plan, "the others work on it already"
    assert not round_of(server, ENGINE).arrays["trained"][6] and server.state.apart[6] == FREE
    assert 6 in clients_of(server.ask())


@pytest.mark.parametrize("action, value", [("quarantine", QUARANTINED), ("confirm", 2)])
def test_who_is_set_apart_between_asking_and_telling_is_left_out_and_the_others_count(action, value):
    """With a quarter of 40 clients drawn, another draw would ask others: the replies that come would be nobody's."""
    server = make_server("fedavg", 40, DIMENSION, fraction=0.25)
    plan = server.ask()
    asked = clients_of(plan)
    getattr(server, action)(asked[0])
    assert clients_of(server.ask()) == asked[1:]
    updates = [(c, Reply(c, 1, np.ones(DIMENSION, np.float32), 5)) for c in asked]
    record = server.tell(updates)
    assert np.flatnonzero(record.arrays["trained"]).tolist() == sorted(asked[1:])
    assert record.arrays["apart"][asked[0]] == value and server.state.apart[asked[0]] == value


def test_releasing_who_is_free_changes_nothing():
    server = make_server("fedavg", 4, DIMENSION)
    server.state = replace(server.state, labels=np.array([0, 0, 1, 1]), models=server.state.models[[0, 0]])
    server.release(2)
    assert server.state.labels.tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("action, value", [("quarantine", QUARANTINED), ("confirm", 2)])
def test_a_client_set_apart_between_training_and_validation_of_a_round_stays_apart(action, value):
    method = Method(chain(train(), average(mean()), _asks_everyone(), place()))
    server = make_server(method, 10, DIMENSION)
    round_of(server, ENGINE)
    assert server.tell(ENGINE.train(server.ask())) is None
    question = server.ask()
    getattr(server, action)(6)
    assert server.ask() is question, "the round goes on"
    record = server.tell(bound(ENGINE.validate(question)))
    assert record.arrays["apart"][6] == value and record.arrays["flock"][6] == UNPLACED
    assert server.state.apart[6] == value and 6 not in clients_of(server.ask())


def test_a_client_released_between_training_and_validation_of_a_round_stays_free():
    method = Method(chain(train(), average(mean()), _asks_everyone()))
    server = make_server(method, 10, DIMENSION)
    server.quarantine(6)
    assert server.tell(ENGINE.train(server.ask())) is None
    server.release(6)
    record = server.tell(bound(ENGINE.validate(server.ask())))
    assert record.arrays["apart"][6] == FREE and record.arrays["flock"][6] == 0
    assert 6 in clients_of(server.ask())


def test_what_was_done_by_hand_is_done_once():
    method = Method(chain(train(), average(mean()), _asks_everyone()))
    server = make_server(method, 10, DIMENSION)
    server.tell(ENGINE.train(server.ask()))
    server.quarantine(6)
    server.tell(bound(ENGINE.validate(server.ask())))
    server.release(6)
    round_of(server, ENGINE)
    assert server.state.apart[6] == FREE
