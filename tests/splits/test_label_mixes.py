import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flockwise.data import Dataset, load
from flockwise.splits import dirichlet, majority_class, pathological


def balanced(classes: int = 10, each: int = 100, name: str = "balanced") -> Dataset:
    y = np.tile(np.arange(classes), each + each // 5)
    return Dataset(name, np.zeros((len(y), 2, 2, 1), np.uint8), y, classes * each, 255.0, classes)


@given(labels=st.integers(1, 10), clients=st.integers(1, 60), seed=st.integers(0, 10**6))
@settings(max_examples=50, deadline=None)
def test_every_client_has_exactly_so_many_labels(labels: int, clients: int, seed: int) -> None:
    federation = pathological(
        load("digits"), clients=clients, labels=labels, seed=seed, validation=0, samples=20
    )
    assert ((federation.label_counts() > 0).sum(axis=1) == labels).all()
    assert not (federation.label_counts("test")[federation.label_counts() == 0]).any()


def test_labels_are_held_by_about_equally_many_clients() -> None:
    holders = (pathological(balanced(), clients=100).label_counts() > 0).sum(axis=0)
    assert holders.tolist() == [20] * 10


def test_all_data_is_used_where_labels_are_balanced() -> None:
    federation = pathological(balanced(), clients=50, validation=0)
    assert federation.sizes().tolist() == [20] * 50
    assert federation.sizes("test").tolist() == [4] * 50


def test_a_small_alpha_is_more_extreme_than_a_large_one() -> None:
    def largest_share(alpha: float) -> float:
        counts = dirichlet(load("digits"), clients=10, alpha=alpha).label_counts()
        return float((counts.max(axis=1) / counts.sum(axis=1)).mean())

    assert largest_share(0.05) > largest_share(0.5) > largest_share(5.0) > largest_share(500.0)
    assert largest_share(500.0) < 0.15


@given(alpha=st.floats(0.001, 1.0), minimum=st.integers(1, 14), seed=st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_no_client_is_left_with_less_than_the_minimum(alpha: float, minimum: int, seed: int) -> None:
    federation = dirichlet(
        load("digits"), clients=100, alpha=alpha, minimum=minimum, seed=seed, validation=0, test=0
    )
    assert federation.sizes().min() >= minimum
    assert federation.sizes().sum() == 1437


@pytest.mark.parametrize("alpha", [0.0, -1.0, float("nan"), float("inf")])
def test_an_impossible_alpha_is_refused(alpha: float) -> None:
    with pytest.raises(ValueError, match="alpha = "):
        dirichlet(load("digits"), alpha=alpha)


@given(majority=st.sampled_from([0.1, 0.28, 0.5, 0.7, 1.0]), seed=st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_the_majority_class_has_its_share_and_the_others_are_equal(majority: float, seed: int) -> None:
    federation = majority_class(balanced(), majority=majority, seed=seed, validation=0)
    counts = federation.label_counts()
    assert (counts.sum(axis=1) == 100).all()
    assert (np.abs(np.diagonal(counts) - 100 * majority) <= 1).all()
    others = counts[~np.eye(10, dtype=bool)]
    assert others.max() - others.min() <= 2


def test_cifar_clients_are_grouped_into_vehicles_and_animals() -> None:
    federation = majority_class(balanced(name="cifar-10"))
    assert federation.groups is not None
    assert federation.groups.tolist() == [0, 0, 1, 1, 1, 1, 1, 1, 0, 0]


def test_super_classes_can_be_given() -> None:
    federation = majority_class(balanced(4), clients=8, super_classes=[(0, 3), (1, 2)])
    assert federation.groups is not None
    assert federation.groups.tolist() == [0, 1, 1, 0, 0, 1, 1, 0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"majority": 1.1}, "majority = 1.1"),
        ({"super_classes": [(0, 1)]}, "super_classes = "),
        ({"samples": 101}, "samples = 101 on average: must be at most 100|samples = 101: must be 1 to 100"),
        ({"clients": 2, "samples": 200, "majority": 1.0}, "must be at most 100, because label 0 has 100"),
    ],
)
def test_impossible_majorities_are_refused(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        majority_class(balanced(), **options)


@pytest.mark.parametrize("labels", [0, 11])
def test_an_impossible_number_of_labels_is_refused(labels: int) -> None:
    with pytest.raises(ValueError, match=f"labels = {labels}: must be 1 to 10"):
        pathological(load("digits"), labels=labels)
