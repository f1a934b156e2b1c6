"""The stages that find flocks: among all clients anew, or inside each flock."""

from dataclasses import dataclass, replace

import numpy as np

from flockwise.stages import (
    FREE,
    QUARANTINED,
    UNPLACED,
    Every,
    Found,
    Known,
    SplitInTwo,
    WhenStable,
    all_go_on,
    find_flocks,
    largest_goes_on,
    once,
    one_model_goes_on,
    split_flocks,
    this_round,
)
from flockwise.stages.evidence import OfUpdates
from flockwise.stages.timing import FOUND, LOOKED
from tests.stages.states import a_round, after, batch, state


@dataclass(frozen=True)
class Answer:
    """A grouping that knows the answer: the flock of each client by its number."""

    labels: tuple[int, ...]
    square: bool = False

    def find(self, known: Known, round) -> Found:
        mine = np.array(self.labels)[known.clients]
        labels = np.unique(mine, return_inverse=True)[1].astype(np.int64)
        return Found(known.clients, labels, np.eye(len(mine)) * 1e300 if self.square else None, {"told": 1.0})


def replies(clients):
    return batch(clients, np.ones((len(clients), 3)))


def test_clients_compared_are_in_the_flocks_found_and_the_others_in_none():
    begun = a_round(state([0] * 5), replies([0, 1, 3]))
    done = after(find_flocks(this_round, Answer((0, 1, 0, 1, 0))), begun)
    assert done.state.labels.tolist() == [1, 0, UNPLACED, 0, UNPLACED], "the larger part keeps the number"
    assert done.state.models.tolist() == [[0.0] * 3] * 2
    assert (LOOKED.get(done.state).round, FOUND.get(done.state).round) == (1, 1)
    (event,) = done.events
    assert event.kind == "flocks" and event.detail == {"sizes": [1, 2], "told": 1.0}


def test_nothing_is_looked_for_out_of_its_time():
    begun = a_round(state([0] * 4, round=2), replies([0, 1]))
    assert after(find_flocks(this_round, Answer((0, 1)), Every(4, 2)), begun) is begun
    assert after(split_flocks(this_round, Answer((0, 1)), all_go_on, Every(4, 2)), begun) is begun


def test_one_flock_leaves_nobody_without_one_and_is_told_when_it_is_the_last_look():
    begun = a_round(state([0] * 4), replies([0, 1]))
    done = after(find_flocks(this_round, Answer((0, 0, 0, 0)), once(1)), begun)
    assert done.state.labels.tolist() == [0, 0, 0, 0]
    assert [(event.kind, event.message) for event in done.events] == [
        ("alike", "2 clients look alike: one flock")
    ]
    assert after(find_flocks(this_round, Answer((0, 0, 0, 0))), begun).events == (), "it is looked for again"


def test_a_timing_that_waits_looks_and_does_not_act():
    begun = a_round(state([0] * 4, round=1), replies([0, 1, 2, 3]))
    done = after(find_flocks(this_round, Answer((0, 1, 0, 1)), WhenStable(patience=2)), begun)
    assert done.state.labels.tolist() == [0] * 4 and FOUND.get(done.state) is None
    assert LOOKED.get(done.state).round == 2 and done.facts == {"told": 1.0}


def test_similarities_too_large_for_the_record_are_the_largest_that_fit():
    done = after(
        find_flocks(this_round, Answer((0, 1, 0), square=True)), a_round(state([0] * 3), replies([0, 2]))
    )
    square = done.arrays["similarity"]
    assert square.shape == (3, 3) and square[0, 0] == np.finfo(np.float32).max
    assert np.isnan(square[1]).all() and np.isnan(square[:, 1]).all()


def test_what_flocks_begin_with_can_be_the_one_model():
    before = state([0, 0, 1, 1], models=2)
    stage = find_flocks(this_round, Answer((0, 1, 1, 0)), begin=one_model_goes_on)
    assert after(stage, a_round(before, replies([0, 1, 2, 3]))).state.models.tolist() == [[0.0] * 3] * 2


def test_each_flock_is_looked_into_by_itself_and_both_parts_go_on():
    before = state([0, 0, 0, 1, 1, 0, 1], dimension=3)
    begun = a_round(before, replies([0, 1, 2, 3, 4]))
    done = after(split_flocks(this_round, Answer((0, 0, 1, 0, 0, 0, 0)), all_go_on), begun)
    assert done.state.labels.tolist() == [0, 0, 2, 1, 1, UNPLACED, 1], (
        "flock 1 stays whole; who was not heard waits"
    )
    assert done.state.models[2].tolist() == before.models[0].tolist()
    (event,) = done.events
    assert (event.kind, event.detail["flock"], event.detail["clients"]) == ("split", 0, [2])


def test_all_but_the_largest_part_are_set_apart():
    before = state([0] * 5)
    done = after(
        split_flocks(this_round, Answer((0, 0, 1, 0, 0)), largest_goes_on),
        a_round(before, replies([0, 1, 2])),
    )
    assert done.state.apart.tolist() == [FREE, FREE, QUARANTINED, FREE, FREE]
    assert done.state.labels.tolist() == [0, 0, UNPLACED, 0, 0], "who was not compared stays"
    assert done.state.models is before.models
    assert [(event.kind, event.detail["clients"]) for event in done.events] == [("quarantine", [2])]


def test_no_majority_is_set_apart_split_after_split_without_a_person() -> None:
    """Each split keeps the larger part of those that are left, which need not be most of all."""
    stage = split_flocks(this_round, Answer((1, 1, 0, 0, 0, 0, 0, 0)), largest_goes_on)
    some = replace(state([0] * 8), apart=np.array([FREE] * 5 + [QUARANTINED] * 3, dtype=np.int8))
    done = after(stage, a_round(some, replies([0, 1, 2, 3, 4])))
    assert done.state.apart.tolist() == [FREE] * 5 + [QUARANTINED] * 3, "five of eight would be apart"
    assert done.state.labels.tolist() == some.labels.tolist()
    (alarm,) = done.events
    assert alarm.kind == "alarm" and alarm.detail["clients"] == [0, 1]
    assert alarm.message == "5 of 8 clients would be set apart, a majority: a person must decide"
    fewer = replace(some, apart=np.array([FREE] * 6 + [QUARANTINED] * 2, dtype=np.int8))
    done = after(stage, a_round(fewer, replies([0, 1, 2, 3, 4])))
    assert [event.kind for event in done.events] == ["quarantine"], "half of all clients is no majority"


@dataclass(frozen=True)
class Calls:
    """A grouping that finds nothing, each time by another call, under a name of its own for the number."""

    calls: tuple[float | None, ...]

    def find(self, known: Known, round) -> Found:
        call = self.calls[int(round.state.labels[known.clients[0]])]
        facts = {"nearness": 1.0 if call is None else call, f"flock {known.clients[0]}": 1.0}
        return Found(known.clients, np.zeros(len(known.clients), np.int64), facts=facts, call=call)


def test_of_several_flocks_the_facts_of_the_closest_call_are_recorded_whatever_they_are_called():
    begun = a_round(state([0, 1, 2]), replies([0, 1, 2]))
    done = after(split_flocks(this_round, Calls((0.5, 0.2, 0.3)), all_go_on), begun)
    assert done.facts == {"nearness": 0.2, "flock 0": 1.0, "flock 1": 1.0}
    without = after(split_flocks(this_round, Calls((None, None, None)), all_go_on), begun)
    assert without.facts == {"nearness": 1.0, "flock 0": 1.0, "flock 1": 1.0, "flock 2": 1.0}


@dataclass(frozen=True)
class Own:
    """Evidence of a user's: it says nothing of sketches."""

    needs: frozenset = frozenset()

    def known(self, round) -> Known:
        return this_round.known(round)


@dataclass(frozen=True)
class OwnOfUpdates(Own, OfUpdates):
    """Evidence of a user's that is made of updates."""


def test_who_says_nothing_of_sketches_is_never_given_any():
    answer, split = Answer((0, 1)), SplitInTwo()
    assert not find_flocks(Own(), answer).compares and not find_flocks(Own(), answer).exact
    assert find_flocks(OwnOfUpdates(), answer).exact == "Answer needs whole updates"
    assert find_flocks(OwnOfUpdates(), split).compares and not find_flocks(OwnOfUpdates(), split).exact
