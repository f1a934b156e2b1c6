import inspect

import numpy as np
import pytest

from flockwise.data import load
from flockwise.splits import SPLITS, dirichlet, iid, label_swap, noniid_degree


@pytest.mark.parametrize("name", SPLITS)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"clients": "10"}, r"^clients = '10': must be a whole number"),
        ({"clients": 2.5}, r"^clients = 2\.5: must be a whole number"),
        ({"clients": True}, r"^clients = True: must be a whole number"),
        ({"validation": "a tenth"}, r"^validation = 'a tenth': must be a number"),
        ({"test": [1]}, r"^test = \[1\]: must be a whole number or left out"),
    ],
)
def test_arguments_of_the_wrong_type_are_named(name: str, options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SPLITS[name].function(load("digits"), **options)


def test_something_that_is_no_data_set_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^dataset = 'mnist': must be a Dataset"):
        iid("mnist")  # type: ignore[arg-type]


def test_lists_are_checked_item_by_item() -> None:
    with pytest.raises(ValueError, match=r"pairs = .*must be a list of lists of whole numbers or left out"):
        label_swap(load("digits"), groups=1, pairs=[("0", "1")])  # type: ignore[list-item]
    with pytest.raises(
        ValueError,
        match=r"sizes = \[1\.5\]: must be one of equal, lognormal, zipf or a list of whole numbers",
    ):
        iid(load("digits"), clients=1, sizes=[1.5])  # type: ignore[list-item]


def test_numbers_of_numpy_and_whole_numbers_for_fractions_are_fine() -> None:
    assert iid(load("digits"), clients=np.int64(3), sizes=np.array([5, 6, 7]), validation=0).clients == 3  # type: ignore[arg-type]
    assert dirichlet(load("digits"), clients=3, alpha=1).clients == 3
    assert noniid_degree(load("digits"), degree=1, group_sizes=[4, 4, 4, 4, 4]).clients == 20


def test_the_signature_stays_visible() -> None:
    assert list(inspect.signature(iid).parameters)[:3] == ["dataset", "clients", "seed"]
