import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flockwise.data import PARTS, Dataset, Federation, Shard, hold_out

EMPTY = np.empty(0, np.int64)


@pytest.fixture
def dataset() -> Dataset:
    x = np.arange(10 * 2 * 2, dtype=np.uint8).reshape(10, 2, 2, 1) * 5
    return Dataset("ten", x, np.arange(10) % 3, 8, 255.0, 3)


def test_arrays_are_scaled_turned_and_relabelled(dataset: Dataset) -> None:
    shard = Shard(np.array([4, 0]), np.array([1]), np.array([9]), relabel=(2, 0, 1), turns=1)
    x, y = Federation(dataset, (shard,)).arrays(0, "train")
    assert x.dtype == np.float32 and y.dtype == np.int64
    assert y.tolist() == [0, 2]
    assert np.allclose(x[1, :, :, 0] * 255, [[5, 15], [0, 10]])
    assert Federation(dataset, (shard,)).label_counts().tolist() == [[1, 0, 1]]


@pytest.mark.parametrize("turns", [0, 4, -4])
def test_full_turns_change_nothing(dataset: Dataset, turns: int) -> None:
    shard = Shard(np.arange(3), EMPTY, EMPTY, turns=turns)
    assert np.array_equal(Federation(dataset, (shard,)).arrays(0, "train")[0], dataset.scaled(np.arange(3)))


def test_reading_does_not_change_the_data_set(dataset: Dataset) -> None:
    before = dataset.x.copy()
    x, y = Federation(dataset, (Shard(np.arange(8), EMPTY, EMPTY),)).arrays(0, "train")
    x += 1
    y += 1
    assert np.array_equal(dataset.x, before) and dataset.y.max() == 2


def test_empty_parts_keep_the_shape_of_a_sample(dataset: Dataset) -> None:
    x, y = Federation(dataset, (Shard(np.arange(2), EMPTY, EMPTY, turns=1),)).arrays(0, "test")
    assert x.shape == (0, 2, 2, 1) and y.shape == (0,)


def test_the_official_test_part_is_whole_and_untransformed(dataset: Dataset) -> None:
    shard = Shard(np.arange(2), EMPTY, np.array([9]), relabel=(1, 0, 2), turns=2)
    x, y = Federation(dataset, (shard,)).official_test()
    assert y.tolist() == [2, 0] and np.allclose(x * 255, dataset.x[8:])


@pytest.mark.parametrize(("client", "part"), [(0, "tests"), (1, "train"), (-1, "train")])
def test_wrong_clients_and_parts_are_refused(dataset: Dataset, client: int, part: str) -> None:
    with pytest.raises(ValueError, match=r"^(part|client) = "):
        Federation(dataset, (Shard(np.arange(2), EMPTY, EMPTY),)).arrays(client, part)


def test_groups_of_only_some_clients_and_no_clients_are_refused(dataset: Dataset) -> None:
    shard = Shard(np.arange(2), EMPTY, EMPTY)
    with pytest.raises(ValueError, match="group = None for some"):
        Federation(dataset, (shard, dataclasses.replace(shard, group=1)))
    with pytest.raises(ValueError, match=r"shards = \(\)"):
        Federation(dataset, ())


@pytest.mark.parametrize(
    "change", [{"train": 11}, {"maximum": 0.0}, {"classes": 2}, {"y": np.zeros(3)}, {"writer": np.zeros(9)}]
)
def test_a_data_set_whose_parts_do_not_fit_is_refused(dataset: Dataset, change: dict) -> None:
    with pytest.raises(ValueError, match=r"^(train|maximum|y|writer) = "):
        dataclasses.replace(dataset, **change)


@given(st.integers(0, 50), st.floats(0, 0.99), st.integers(0, 1000))
def test_carving_divides_and_keeps_one(count: int, fraction: float, seed: int) -> None:
    indices = np.random.default_rng(seed).permutation(count)
    kept, aside = hold_out(indices, fraction, np.random.default_rng(seed))
    assert np.array_equal(np.sort(np.concatenate([kept, aside])), np.arange(count))
    assert len(aside) == min(round(count * fraction), max(count - 1, 0))


@pytest.mark.parametrize("fraction", [-0.1, 1.0, float("nan")])
def test_carving_refuses_impossible_fractions(fraction: float) -> None:
    with pytest.raises(ValueError, match="validation = "):
        hold_out(np.arange(5), fraction, np.random.default_rng(0))


def test_own_arrays_come_back_client_by_client() -> None:
    random = np.random.default_rng(0)
    clients = [
        (
            (random.random((20, 3, 3, 1)), random.integers(0, 4, 20)),
            (random.random((5, 3, 3, 1)), np.zeros(5, int)),
        )
        for _ in range(3)
    ]
    federation = Federation.from_arrays(clients, classes=4, validation=0.2, groups=[0, 1, 0])
    assert federation.clients == 3 and federation.sizes().tolist() == [16] * 3
    assert federation.groups is not None and federation.groups.tolist() == [0, 1, 0]
    for client, ((x, _), (test_x, test_y)) in enumerate(clients):
        assert np.array_equal(federation.arrays(client, "test")[0], test_x.astype(np.float32))
        assert np.array_equal(federation.arrays(client, "test")[1], test_y)
        seen = np.concatenate([federation.arrays(client, part)[0] for part in ("train", "validation")])
        assert np.array_equal(np.unique(seen), np.unique(x.astype(np.float32)))


def test_own_arrays_may_be_lists_or_tensors_without_a_test_part() -> None:
    import torch

    federation = Federation.from_arrays(
        [(torch.zeros(6, 3, 5, 4), torch.arange(6)), (torch.ones(4, 3, 5, 4), torch.arange(4))], layout="NCHW"
    )
    assert federation.arrays(1, "train")[0].shape == (4, 5, 4, 3) and federation.dataset.classes == 6
    assert federation.sizes("test").tolist() == [0, 0]
    rows = Federation.from_arrays([([[1.0, 2.0], [3.0, 4.0]], [0, 1])], validation=0)
    assert rows.arrays(0, "train")[0].tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_own_bytes_are_scaled_and_own_floats_are_not() -> None:
    whole = Federation.from_arrays([(np.full((2, 1, 1, 1), 255, np.uint8), [0, 1])], validation=0)
    assert whole.arrays(0, "train")[0].max() == 1.0
    floats = Federation.from_arrays([(np.full((2, 3), 255.0), [0, 1])], validation=0)
    assert floats.arrays(0, "train")[0].max() == 255.0


@pytest.mark.parametrize(
    ("clients", "options", "message"),
    [
        ([], {}, "give at least one client"),
        ([np.zeros((3, 2))], {}, r"clients\[0\] = ndarray: must be"),
        ([(np.zeros((3, 2)), [0, 1])], {}, r"clients\[0\] = 3 samples, 2 labels"),
        ([(np.zeros((2, 2)), [0.5, 1.0])], {}, "must be whole-number labels"),
        (
            [(np.zeros((2, 2)), [0, 1]), (np.zeros((2, 3)), [0, 1])],
            {},
            r"clients\[1\] = samples of shape \(3,\), ",
        ),
        ([(np.zeros((2, 2)), [0, 1]), (np.zeros((0, 2)), [])], {}, r"clients\[1\] = no training samples"),
        ([(np.zeros((2, 2)), [0, 5])], {"classes": 3}, "must be 0 to 2"),
        ([(np.zeros((2, 2)), [0, -1])], {}, "must be 0 to"),
        ([(np.zeros((2, 2)), [0, 1])], {"groups": [0, 1]}, "groups = 2 entries: must be 1"),
        ([(np.zeros((2, 2)), [0, 1])], {"layout": "CHW"}, "layout = 'CHW'"),
    ],
)
def test_own_arrays_that_do_not_fit_are_refused(clients: list, options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Federation.from_arrays(clients, **options)


def test_own_arrays_reproduce_with_the_seed() -> None:
    clients = [(np.arange(40).reshape(20, 2), np.arange(20) % 2)]
    first, same, other = (Federation.from_arrays(clients, seed=seed, validation=0.5) for seed in (1, 1, 2))
    assert all(np.array_equal(getattr(first.shards[0], p), getattr(same.shards[0], p)) for p in PARTS)
    assert not np.array_equal(first.shards[0].validation, other.shards[0].validation)
