import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from flockwise.errors import InputError
from flockwise.kernels import closest, columns, native, stored
from flockwise.kernels.closest import closest_mean, closest_of_rows, closest_to_median
from flockwise.kernels.native import loading


@settings(max_examples=300, deadline=None)
@given(
    arrays(np.float32, st.tuples(st.just(5), st.integers(1, 12)), elements=st.integers(-4, 4).map(float)),
    st.data(),
)
def test_the_values_closest_to_the_median_are_averaged(block, data):
    count = data.draw(st.integers(1, block.shape[1]))
    block = np.sort(block, axis=1)
    expected = []
    for line in block:
        middle = np.median(line)
        closest = sorted(line, key=lambda value, middle=middle: (abs(value - middle), value))[:count]
        expected.append(np.mean(closest))
    np.testing.assert_allclose(closest_mean(block, count), expected, atol=1e-5)
    np.testing.assert_allclose(closest_of_rows(list(block.T.copy()), count), expected, atol=1e-5)


def by_search(rows, members, count):
    """For each column the mean of the values that a search finds closest to its median."""
    found = []
    for column in rows[members].astype(np.float64).T:
        middle = np.median(column)
        found.append(
            np.mean(sorted(column, key=lambda value, middle=middle: (abs(value - middle), value))[:count])
        )
    return np.array(found)


WAYS = {"few, by NumPy": (20, False), "many, by NumPy": (columns.NETWORK + 6, False), "compiled": (20, True)}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_take_the_closest_of_some_rows_agrees_with_a_search(way, monkeypatch):
    clients, compiled = WAYS[way]
    taken = []
    for name in ("each_network_block", "each_sorted_block"):
        whole = getattr(closest, name)
        monkeypatch.setattr(closest, name, lambda *a, name=name, whole=whole: taken.append(name) or whole(*a))
    if compiled and native.status() != "C++":
        pytest.skip(native.status())
    monkeypatch.setattr(loading, "SMALLEST", 0 if compiled else 1 << 62)
    rng = np.random.default_rng(clients)
    rows = rng.integers(-50, 50, (clients + 3, 41)).astype(np.float32)
    rows[:, 7] = 0.0
    rows[::2, 7] = -0.0
    members = rng.permutation(clients + 3)[:clients]
    for count in (1, 2, clients // 2, clients - 1, clients):
        found = closest_to_median(rows, members, count)
        assert found.dtype == np.float32 and found.shape == (41,)
        np.testing.assert_allclose(found, by_search(rows, members, count), rtol=0, atol=1e-5)
        assert not np.signbit(found[7]), "there is one zero"
    expected = {
        "few, by NumPy": {"each_network_block"},
        "many, by NumPy": {"each_sorted_block"},
        "compiled": set(),
    }
    assert set(taken) == expected[way]


@pytest.mark.parametrize("clients", [columns.NETWORK, columns.NETWORK + 1])
def test_the_network_sorts_as_many_rows_as_it_is_made_for(clients, monkeypatch):
    rows, taken = np.random.default_rng(0).random((clients, 5), dtype=np.float32), []
    whole = closest.each_network_block
    monkeypatch.setattr(closest, "each_network_block", lambda *a: taken.append(1) or whole(*a))
    closest_to_median(rows, np.arange(clients), 3)
    assert len(taken) == (clients <= columns.NETWORK)


@pytest.mark.parametrize("clients", [9, columns.NETWORK + 6])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_is_refused(clients, bad):
    rows = np.zeros((clients, 5), np.float32)
    rows[4, 3] = bad
    with pytest.raises(InputError, match=r"updates\[4, 3\]"):
        closest_to_median(rows, np.arange(clients), 3)


def test_rows_that_lie_elsewhere_are_taken_in_blocks_of_columns(monkeypatch):
    class Source:
        def read(self, places, start, stop):
            return rows[places, start:stop]

    rows = np.random.default_rng(1).random((9, 200), dtype=np.float32)
    monkeypatch.setattr(stored, "BLOCK_BYTES", 4 * 64 * 9)
    found = closest_to_median(stored.StoredRows(Source(), np.arange(9), 200), np.arange(1, 9), 3)
    np.testing.assert_array_equal(found, closest_to_median(rows, np.arange(1, 9), 3))
