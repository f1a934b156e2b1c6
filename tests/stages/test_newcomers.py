"""Clients that are first heard once flocks are found join the one whose members' sketches theirs is like."""

from dataclasses import replace

import numpy as np
import pytest

import flockwise as fw
from flockwise.clustering.crowd import most_alike
from flockwise.messages import Replies
from flockwise.server import Server
from flockwise.stages import Setting
from flockwise.stages.evidence import LatestUpdates, this_round
from flockwise.stages.newcomers import Newcomers
from flockwise.stages.state import QUARANTINED, UNPLACED, State
from flockwise.stages.timing import FOUND, Looked, once
from tests.stages.states import a_round, after, batch

CLIENTS, PARAMETERS = 24, 400
KIND = np.arange(CLIENTS) % 3  # what a client pulls towards, whatever it is sent
TARGETS = np.random.default_rng(1).standard_normal((3, PARAMETERS)).astype(np.float32)
HEARD = np.arange(CLIENTS) < 15


def replies_to(plan):
    """Every client goes half of the way to what it wants, with some noise."""
    clients = np.array(sorted(task.client for task in plan.tasks))
    sent = np.stack([plan.models[plan.offers[client][0]] for client in clients])
    noise = [np.random.default_rng([plan.round, client]).standard_normal(PARAMETERS) for client in clients]
    updates = (0.5 * (TARGETS[KIND[clients]] - sent) + 0.3 * np.stack(noise)).astype(np.float32)
    ones = np.ones(len(clients), np.int64)
    return Replies(
        plan.round, clients, updates, ones, 0 * ones, ones * 1.0, np.full((len(clients), 3), np.nan)
    )


def server_of(state=None, sketch=128, fraction=1.0):
    setting = Setting(seed=1, fraction=fraction, sketch=sketch)
    method = fw.flic(warmup=2, min_separation=0.0)
    return Server(method, np.zeros((1, PARAMETERS), np.float32), CLIENTS, setting=setting, state=state)


def told(server, present):
    """One round of those who are there; the plan it began with, and its record. Nobody has anything to validate on."""
    plan = server.ask(present)
    record = server.tell(replies_to(plan))
    while record is None:
        server.ask()
        record = server.tell([])
    return plan, record


@pytest.fixture(scope="module")
def found():
    """The state after flocks of those heard have been found, and have trained for two rounds."""
    server = server_of()
    for _ in range(4):
        told(server, HEARD)
    assert server.state.flocks == 3
    assert (server.state.labels[~HEARD] == UNPLACED).all()
    return server.state


def flock_of(state):
    """The flock of each kind, from those that were compared."""
    return np.array([state.labels[HEARD & (kind == KIND)][0] for kind in range(3)])


def test_newcomers_are_where_others_of_their_kind_are(found):
    server = server_of(found)
    plan, record = told(server, np.arange(CLIENTS) >= 12)
    assert np.array_equal(server.state.labels, flock_of(found)[KIND])
    assert [event.client for event in record.events if event.kind == "placed"] == list(range(15, 24))
    assert {plan.offers[client] for client in range(15, 24)} == {(3,)}, "the model that they are compared by"
    assert {plan.offers[client] for client in range(12, 15)} == {(0,), (1,), (2,)}


def test_what_newcomers_send_to_be_compared_moves_no_flock(found):
    alone, both = server_of(found), server_of(found)
    told(alone, np.isin(np.arange(CLIENTS), [12, 13, 14]))
    told(both, np.arange(CLIENTS) >= 12)
    moved = [server.state.models for server in (alone, both)]
    assert moved[0].tobytes() == moved[1].tobytes() != found.models.tobytes()
    told_again = replies_to(both.ask())
    assert set(told_again.clients.tolist()) == set(range(CLIENTS)), "from now on they are like everybody"
    assert len(both.ask().models) == 3


def test_a_round_of_newcomers_alone_leaves_models_as_they_were(found):
    server = server_of(found)
    told(server, ~HEARD)
    assert np.array_equal(server.state.models, found.models)
    assert np.array_equal(server.state.labels, flock_of(found)[KIND])


def test_who_was_placed_otherwise_before_is_moved_when_it_is_compared(found):
    labels = found.labels.copy()
    labels[15:] = flock_of(found)[0]
    server = server_of(State(found.round, found.models, labels, found.apart, found.memory))
    _, record = told(server, ~HEARD)
    assert np.array_equal(server.state.labels, flock_of(found)[KIND])
    moved = [event.client for event in record.events if event.kind == "moved"]
    assert moved == [client for client in range(15, 24) if KIND[client] != 0]


def test_nobody_joins_a_flock_that_was_set_apart(found):
    gone = flock_of(found)[1]
    labels, apart = found.labels.copy(), found.apart.copy()
    apart[found.labels == gone], labels[found.labels == gone] = QUARANTINED, UNPLACED
    server = server_of(State(found.round, found.models, labels, apart, found.memory))
    told(server, ~HEARD)
    assert (server.state.labels[~HEARD & (KIND == 1)] == UNPLACED).all()
    assert (server.state.labels[~HEARD & (KIND != 1)] != UNPLACED).all()


def test_a_saved_state_goes_on_to_the_same_bits(found):
    again = State.from_arrays({name: array.copy() for name, array in found.to_arrays().items()})
    ends = []
    for state in (found, again):
        server = server_of(state)
        told(server, np.arange(CLIENTS) >= 12)
        ends.append({name: array.tobytes() for name, array in server.state.to_arrays().items()})
    assert ends[0] == ends[1]
    assert not any("sketches" in name for name in ends[0]), "no single sketch is kept once flocks are found"


def test_sketches_of_another_kind_are_not_compared_with_these(found):
    server = server_of(found, sketch=64)
    plan, _ = told(server, ~HEARD)
    assert len(plan.models) == 3


def test_whole_updates_are_not_changed_by_any_of_this():
    server = server_of(sketch=None)
    for _ in range(4):
        plan, _ = told(server, HEARD)
    plan, _ = told(server, ~HEARD)
    assert len(plan.models) == server.state.flocks == 3
    assert not any("newcomers" in name for name in server.state.to_arrays())


METHODS = {
    "fl-hc, by distance": lambda: fw.fl_hc(rounds_before=1, metric="l2", linkage="average", flocks=3),
    "fl-hc, by cosine": lambda: fw.fl_hc(rounds_before=1, metric="cosine", linkage="average", flocks=3),
    "custom, once": lambda: fw.custom(when="once", first=2, similarity="l2"),
    "custom, rounds of all": lambda: fw.custom(
        evidence="this-round", when="every", first=2, every=9, census=True
    ),
}


@pytest.mark.parametrize("name", METHODS)
def test_every_method_that_compares_all_on_one_model_takes_newcomers_in(name):
    setting = Setting(seed=1, fraction=1.0, sketch=128)
    server = Server(METHODS[name](), np.zeros((1, PARAMETERS), np.float32), CLIENTS, setting=setting)
    for _ in range(4):
        told(server, HEARD)
    assert server.state.flocks == 3
    before = server.state
    plan, _ = told(server, ~HEARD)
    assert {plan.offers[client] for client in range(15, 24)} == {(3,)}, "the model that they are compared by"
    assert np.array_equal(server.state.labels, flock_of(before)[KIND])
    assert np.array_equal(server.state.models, before.models)


@pytest.mark.parametrize(
    "options", [{"when": "every", "first": 2}, {"when": "every", "scope": "within", "first": 2}]
)
def test_where_flocks_are_found_on_several_models_nobody_is_compared_with_one(options):
    setting = Setting(seed=1, fraction=1.0, sketch=128)
    server = Server(fw.custom(**options), np.zeros((1, PARAMETERS), np.float32), CLIENTS, setting=setting)
    for _ in range(3):
        told(server, HEARD)
    assert not any("newcomers" in name for name in server.state.to_arrays())


def test_by_distance_a_newcomer_joins_the_nearest_not_the_one_of_its_direction():
    newcomers = Newcomers(this_round, once(1), by_distance=True)
    rows = np.array([[1, 0], [1, 0.1], [3, 0], [3, 0.1], [-4, 0], [-4, 0.1]], np.float32)
    center = rows.mean(axis=0)
    means = newcomers._means(rows.copy(), np.array([0, 0, 1, 1, 2, 2]), center)
    asked = newcomers._asked(np.array([[1.2, 0], [2.5, 0], [-3, 0]], np.float32) - center)
    assert most_alike(asked, newcomers._answers(means)).tolist() == [0, 1, 2]


@pytest.mark.parametrize("evidence", ["latest-updates", "this-round"])
def test_a_flock_that_the_watch_splits_later_changes_nothing_that_newcomers_are_compared_with(evidence):
    """Single sketches are gone by then, and this round's clients have trained different models."""
    setting = Setting(seed=1, fraction=1.0, sketch=128)
    newcomers = Newcomers(LatestUpdates() if evidence == "latest-updates" else this_round, once(2))
    server = Server(
        fw.custom(when="once", first=2, evidence=evidence),
        np.zeros((1, PARAMETERS), np.float32),
        CLIENTS,
        setting=setting,
    )
    for _ in range(4):
        told(server, HEARD)
    split = FOUND.put(server.state, Looked(5))
    clients = np.flatnonzero(HEARD)
    began = replace(a_round(split, batch(clients, TARGETS[KIND[clients]], round=5)), setting=setting)
    assert after(newcomers.keep, began).state is began.state
