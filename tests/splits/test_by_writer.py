import dataclasses

import numpy as np
import pytest

from flockwise.data import Dataset, load
from flockwise.splits import by_writer


def written(train_writers: list[int], test_writers: list[int], **more: np.ndarray) -> Dataset:
    writer = np.array(train_writers + test_writers)
    count = len(writer)
    x, y = np.zeros((count, 2, 2, 1), np.uint8), np.arange(count) % 3
    return Dataset("written", x, y, len(train_writers), 255.0, 3, writer=writer, **more)


def test_a_client_holds_all_samples_of_one_writer_and_nothing_else() -> None:
    dataset = written([7] * 20 + [9] * 30, [9] * 3 + [7] * 2)
    federation = by_writer(dataset)
    assert [shard.user for shard in federation.shards] == [7, 9]
    assert federation.sizes("train").tolist() == [18, 27]
    assert federation.sizes("test").tolist() == [2, 3]
    for shard in federation.shards:
        held = np.concatenate([shard.train, shard.validation, shard.test])
        assert np.array_equal(np.sort(held), np.flatnonzero(dataset.writer == shard.user))


def test_writers_without_official_test_samples_set_a_share_aside() -> None:
    federation = by_writer(written([1] * 40, [2] * 40), validation=0, test_share=0.25)
    assert federation.clients == 1  # writer 2 has no training samples
    assert federation.sizes("train").tolist() == [30] and federation.sizes("test").tolist() == [10]


def test_small_writers_and_those_of_low_status_are_left_out() -> None:
    train = [1] * 11 + [2] * 12 + [3] * 12
    status = np.array([2] * 23 + [0] * 12)
    federation = by_writer(written(train, [], writer_status=status))
    assert [shard.user for shard in federation.shards] == [2]
    assert by_writer(written(train, [], writer_status=status), status=0, minimum=2).clients == 3


def test_groups_are_the_series_of_the_writers() -> None:
    dataset = written([1] * 12 + [2] * 12, [], writer_group=np.array([4] * 12 + [0] * 12))
    groups = by_writer(dataset).groups
    assert groups is not None and groups.tolist() == [4, 0]
    assert by_writer(dataset, series=False).groups is None


def test_samples_and_test_are_upper_limits() -> None:
    federation = by_writer(written([1] * 50, [1] * 10), samples=20, test=4, validation=0)
    assert federation.sizes("train").tolist() == [20] and federation.sizes("test").tolist() == [4]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"clients": 3}, "clients = 3: must be 1 to 2"),
        ({"minimum": 100}, "minimum = 100: no writer"),
        ({"minimum": 1}, "minimum = 1: must be at least 2"),
        ({"test_share": 0.0}, "test_share"),
        ({"samples": 0}, "samples = 0"),
    ],
)
def test_impossible_requests_are_refused(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        by_writer(written([1] * 20 + [2] * 20, []), **options)


def test_a_data_set_without_writers_says_what_to_do() -> None:
    with pytest.raises(ValueError, match="dataset = digits: must know its writers; use femnist"):
        by_writer(load("digits"))
    assert dataclasses.replace(load("digits"), name="other").writer is None
