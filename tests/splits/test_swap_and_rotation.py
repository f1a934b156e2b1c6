import numpy as np
import pytest

from flockwise.data import load
from flockwise.splits import label_swap, rotation


def test_each_group_of_five_swaps_its_own_two_digits() -> None:
    federation = label_swap(load("digits"), clients=10)
    assert federation.groups is not None
    assert federation.groups.tolist() == [0, 1, 2, 3, 4, 0, 1, 2, 3, 4]
    for shard in federation.shards:
        assert shard.relabel is not None and shard.group is not None
        assert sorted(shard.relabel) == list(range(10))
        moved = [label for label in range(10) if shard.relabel[label] != label]
        assert moved == [2 * shard.group, 2 * shard.group + 1]


@pytest.mark.parametrize("part", ["train", "validation", "test"])
def test_labels_are_swapped_in_every_part_and_images_stay(part: str) -> None:
    dataset = load("digits")
    federation = label_swap(dataset, clients=4, groups=2, pairs=[(3, 9), (0, 5)])
    x, y = federation.arrays(0, part)
    indices = federation.indices(0, part)
    truth = dataset.y[indices]
    assert (y[truth == 3] == 9).all() and (y[truth == 9] == 3).all() and (truth == 3).any()
    others = ~np.isin(truth, (3, 9))
    assert np.array_equal(y[others], truth[others])
    assert np.array_equal(x, dataset.x[indices].astype(np.float32) / 16)


@pytest.mark.parametrize("part", ["train", "validation", "test"])
def test_group_g_is_turned_g_times_by_90_degrees(part: str) -> None:
    dataset = load("digits")
    federation = rotation(dataset, clients=8)
    for client in range(8):
        x, y = federation.arrays(client, part)
        indices = federation.indices(client, part)
        image = dataset.x[indices[0]].astype(np.float32) / 16
        for _ in range(client % 4):
            image = image.transpose(1, 0, 2)[::-1]  # one quarter turn, counter-clockwise
        assert np.array_equal(x[0], image)
        assert np.array_equal(y, dataset.y[indices])
        assert x.flags.c_contiguous


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": 6}, "groups = 6: must be at most 5"),
        ({"clients": 3}, "groups = 5: must be 1 to 3"),
        ({"groups": 2, "pairs": [(0, 1)]}, "pairs = 1 pairs: must be 2"),
        ({"groups": 1, "pairs": [(4, 4)]}, r"pairs = \[4, 4\]: each must be two different"),
        ({"groups": 1, "pairs": [(0, 10)]}, r"pairs = \[0, 10\]: each must be"),
        ({"groups": 2, "pairs": [(0, 1), (1, 0)]}, "must differ"),
    ],
)
def test_impossible_swaps_are_refused(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        label_swap(load("digits"), **options)


def test_more_than_four_turns_are_refused() -> None:
    with pytest.raises(ValueError, match="groups = 5: must be 1 to 4"):
        rotation(load("digits"), groups=5)
