"""A federation remembers the config that makes it, as long as it is that federation."""

from dataclasses import replace

import numpy as np
import pytest

from flockwise.data import DATASETS, Dataset, Federation, digits, load, sets
from flockwise.splits import SPLITS, dirichlet, label_swap, noniid_degree


def test_a_split_of_a_data_set_by_name_says_how_it_was_made() -> None:
    federation = label_swap(digits(), 20, groups=4, seed=1)
    assert federation.origin == {
        "data": {"name": "digits"},
        "split": {
            "name": "label_swap", "clients": 20, "seed": 1, "groups": 4, "pairs": None, "sizes": "equal",
            "samples": None, "validation": 0.1, "test": None, "shared": False,
        },
    }  # fmt: skip


@pytest.mark.parametrize("name", [name for name in SPLITS if SPLITS[name].example is not None])
def test_the_recipe_makes_the_same_federation(name: str) -> None:
    first = SPLITS[name](load("digits"), clients=10, seed=3, **SPLITS[name].example)
    assert first.origin is not None
    recipe = dict(first.origin["split"])
    again = SPLITS[recipe.pop("name")](load(first.origin["data"]["name"]), **recipe)
    for client in range(10):
        for one, two in zip(first.arrays(client, "train"), again.arrays(client, "train"), strict=True):
            np.testing.assert_array_equal(one, two)


def test_values_of_numpy_become_plain_ones() -> None:
    federation = noniid_degree(digits(), clients=np.int64(20), group_sizes=np.array([4] * 5))
    assert federation.origin is not None
    assert federation.origin["split"]["clients"] == 20 and type(federation.origin["split"]["clients"]) is int
    assert federation.origin["split"]["group_sizes"] == [4] * 5


def test_what_was_changed_has_no_recipe() -> None:
    federation = dirichlet(digits(), clients=5)
    assert federation.origin is not None
    assert replace(federation, shards=federation.shards[1:]).origin is None
    assert Federation(federation.dataset, federation.shards).origin is None
    changed = replace(digits(), y=(digits().y + 1) % 10)
    assert changed.registered is None and dirichlet(changed, clients=5).origin is None


def test_data_of_ones_own_have_no_recipe_whatever_they_are_called() -> None:
    own = Dataset("digits", np.zeros((40, 2, 2, 1), np.uint8), np.arange(40) % 2, 20, 255.0, 2)
    assert SPLITS["iid"](own, clients=2).origin is None
    entry = (np.zeros((4, 3)), np.arange(4) % 2)
    assert Federation.from_arrays([entry, entry], name="mnist").origin is None


def test_every_data_set_has_a_function() -> None:
    made = {name.replace("-", "").replace("_", "") for name in vars(sets)}
    assert {name.replace("-", "") for name in DATASETS} <= made
    assert digits().registered == "digits" and digits() is load("digits")
