"""Kinds that differ in labels and in turns."""

import numpy as np
import pytest

from flockwise.data import load
from flockwise.errors import InputError
from flockwise.splits import kinds


def test_four_kinds_are_all_combinations_of_a_swap_and_a_turn() -> None:
    federation = kinds(load("digits"), clients=8)
    seen = {(shard.relabel is not None, shard.turns) for shard in federation.shards}
    assert seen == {(False, 0), (True, 0), (False, 1), (True, 1)}
    assert federation.groups is not None
    assert np.bincount(federation.groups).tolist() == [2, 2, 2, 2]


def test_a_kind_may_be_as_rare_as_asked() -> None:
    federation = kinds(load("digits"), clients=20, group_sizes=[12, 4, 3, 1])
    assert federation.groups is not None
    assert np.bincount(federation.groups).tolist() == [12, 4, 3, 1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"clients": 3}, "swaps x turns = 4 kinds: must be at most 3"),
        ({"clients": 20, "swaps": 7}, "swaps = 7: must be at most 6"),
        ({"clients": 20, "group_sizes": [10, 10]}, "group_sizes = \\[10, 10\\]: must be 4 numbers"),
    ],
)
def test_impossible_kinds_are_refused(options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        kinds(load("digits"), **options)
