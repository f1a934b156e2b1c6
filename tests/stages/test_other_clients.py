"""A state for other clients: who stays keeps what it had, in every memory that says which row is whose."""

from typing import NamedTuple

import numpy as np
import pytest

from flockwise.errors import InputError
from flockwise.similarity import Evidence
from flockwise.stages.evidence import _UPDATES
from flockwise.stages.other_clients import for_clients
from flockwise.stages.state import CONFIRMED, FREE, SLOTS, UNPLACED, Slot, State, first_state
from flockwise.stages.timing import FOUND, Looked
from flockwise.stages.train import HEARD, Heard


class Wishes(NamedTuple):
    """A memory that does not say which of its arrays are by client."""

    wishes: np.ndarray


def state() -> State:
    from dataclasses import replace

    rng = np.random.default_rng(0)
    first = first_state(rng.normal(size=(2, 5)).astype(np.float32), 4)
    first = replace(
        first, round=7, labels=np.array([0, 1, UNPLACED, 1]), apart=np.array([0, 0, CONFIRMED, 0], np.int8)
    )
    memory = Evidence(4, 5).update([0, 1, 3], rng.normal(size=(3, 5)).astype(np.float32), 6)
    first = _UPDATES.put(first, memory)
    return HEARD.put(FOUND.put(first, Looked(4)), Heard(np.array([1, 3])))


def test_rows_of_those_who_stay_move_with_them() -> None:
    old = state()
    before = np.array([3, -1, 2, 1])
    new, forgotten = for_clients(old, before)
    assert forgotten == [] and new.round == 7 and np.array_equal(new.models, old.models)
    assert new.labels.tolist() == [1, UNPLACED, UNPLACED, 1]
    assert new.apart.tolist() == [FREE, FREE, CONFIRMED, FREE]
    then, now = _UPDATES.get(old), _UPDATES.get(new)
    assert then is not None and now is not None
    assert now.round.tolist() == [6, -1, -1, 6]
    assert np.array_equal(now.rows[[0, 3]], then.rows[[3, 1]]) and not now.rows[1].any()
    assert np.array_equal(now.cosine()[np.ix_([0, 3], [0, 3])], then.cosine()[np.ix_([3, 1], [3, 1])])
    found = FOUND.get(new)
    assert found is not None and found.round == 4
    assert HEARD.get(new) is None  # nobody has been heard yet, by these numbers


def test_the_old_state_stays_as_it_was() -> None:
    old = state()
    then = {name: array.copy() for name, array in old.to_arrays().items()}
    new, _ = for_clients(old, np.array([1, 0]))
    evidence = _UPDATES.get(new)
    assert evidence is not None
    _UPDATES.put(new, evidence.update([0], np.ones((1, 5), np.float32), 9))
    now = old.to_arrays()
    assert then.keys() == now.keys() and all(np.array_equal(then[name], now[name]) for name in then)


def test_a_memory_that_does_not_say_is_forgotten_unless_all_clients_stay() -> None:
    slot = Slot("wishes", Wishes)
    try:
        old = slot.put(state(), Wishes(np.arange(4.0)))
        assert for_clients(old, np.array([0, 1, 2]))[1] == ["wishes"]
        same, forgotten = for_clients(old, np.arange(4))
        kept = slot.get(same)
        assert forgotten == [] and kept is not None and kept.wishes.tolist() == [0, 1, 2, 3]
    finally:
        del SLOTS["wishes"]


def test_two_memories_cannot_have_one_name() -> None:
    with pytest.raises(
        InputError, match=r"Slot\('found'\): is the memory of flockwise\.stages\.timing\.Looked"
    ):
        Slot("found", _Another)


class _Another(NamedTuple):
    rounds: np.ndarray
