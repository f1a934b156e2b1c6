import itertools

import numpy as np
import pytest

from flockwise.kernels.network import exchanges, sorted_rows


@pytest.mark.parametrize("count", range(1, 12))
def test_every_input_of_zeros_and_ones_is_sorted(count):
    # By the 0-1 principle a network that sorts these sorts everything.
    block = np.array(list(itertools.product([0, 1], repeat=count)), np.float32).T.copy()
    pool = [np.empty(block.shape[1], np.float32) for _ in range(count + 1)]
    expected = np.sort(block, axis=0)
    assert np.array_equal(sorted_rows(block, 0, count, pool), expected)
    for low in range(count):
        for high in range(low + 1, count + 1):
            rows = sorted_rows(block, low, high, pool)
            assert all(np.array_equal(rows[place], expected[place]) for place in range(low, high))


def test_wanting_fewer_places_takes_fewer_exchanges():
    assert len(exchanges(20, 9, 11)) < len(exchanges(20, 4, 16)) <= len(exchanges(20, 0, 20)) == 97


def test_the_block_is_left_alone():
    block = np.random.default_rng(0).random((9, 5), dtype=np.float32)
    before = block.copy()
    sorted_rows(block, 0, 9, [np.empty(5, np.float32) for _ in range(10)])
    assert np.array_equal(block, before)
