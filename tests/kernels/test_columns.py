"""The middle of every column, by the network and by sorting: edges that rules seldom come to."""

import numpy as np
import pytest

from flockwise.errors import InputError
from flockwise.kernels import columns, stored
from flockwise.kernels.columns import middle_mean
from flockwise.kernels.native import loading


@pytest.fixture(autouse=True)
def by_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "SMALLEST", 1 << 62)


def expected(rows: np.ndarray, cut: int) -> np.ndarray:
    return np.sort(rows.astype(np.float64), axis=0)[cut : len(rows) - cut].mean(axis=0)


@pytest.mark.parametrize("clients", [5, 64, 65, 66, 67])
@pytest.mark.parametrize("size", [1, 3001, 40_000])
def test_whatever_is_left_of_however_many_columns_is_averaged(clients: int, size: int) -> None:
    """More columns than a block has, and one, two, three or more values that are left."""
    rows = np.random.default_rng(clients).standard_normal((clients, size), dtype=np.float32)
    most = (clients - 1) // 2
    for cut in {0, most - 1, most} if size < 40_000 else {most}:
        np.testing.assert_allclose(middle_mean(rows, cut), expected(rows, cut), rtol=0, atol=1e-6)


@pytest.mark.parametrize("clients", [9, 70])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_one_value_that_is_not_finite_is_refused_wherever_it_is_sorted_to(clients: int, bad: float) -> None:
    rows = np.random.default_rng(0).standard_normal((clients, 30), dtype=np.float32)
    rows[4, 3] = bad
    with pytest.raises(InputError, match=r"updates\[4, 3\]"):
        middle_mean(rows, 1)


@pytest.mark.parametrize("clients", [9, 70])
def test_sums_that_overflow_are_taken_again_and_no_others(clients: int) -> None:
    rows = np.random.default_rng(0).standard_normal((clients, 30), dtype=np.float32)
    rows[:, 3] = np.linspace(2e38, 3e38, clients)
    rows[:, 8] = -3e38
    found = middle_mean(rows, 2)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected(rows, 2), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("clients", [9, 70])
def test_there_is_one_zero(clients: int) -> None:
    rows = np.full((clients, 3), -0.0, np.float32)
    assert not np.signbit(middle_mean(rows, 2)).any() and not middle_mean(rows, 2).any()


def test_rows_that_lie_elsewhere_are_taken_in_blocks_of_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, read = np.random.default_rng(1).random((9, 200), dtype=np.float32), []

    class Source:
        def read(self, places: np.ndarray, start: int, stop: int) -> np.ndarray:
            read.append(stop - start)
            return rows[places, start:stop]

    monkeypatch.setattr(stored, "BLOCK_BYTES", 4 * 64 * 9)
    found = middle_mean(stored.StoredRows(Source(), np.arange(9), 200), 3)
    np.testing.assert_array_equal(found, middle_mean(rows, 3))
    assert len(read) > 1


def test_which_way_is_taken_stays_as_it_is() -> None:
    """Sums are rounded in another order the other way: the bits of runs on record depend on it."""
    assert (columns.NETWORK, columns.WIDTH, columns.CACHE) == (64, 1 << 14, 1 << 17)


@pytest.mark.parametrize("clients", [3, 20, 64])
def test_of_few_clients_values_are_added_one_by_one(clients: int) -> None:
    """To the bit: runs on record depend on it. Looked at before what overflows is worked out anew, which would hide it."""
    rows = np.random.default_rng(clients).standard_normal((clients, 300), dtype=np.float32)
    for cut in {0, (clients - 1) // 4, (clients - 1) // 2}:
        middle = np.sort(rows, axis=0)[cut : clients - cut]
        total = middle[0].copy()
        for row in middle[1:]:
            total += row
        assert columns._middle_mean(rows, cut).tobytes() == (total * np.float32(1 / len(middle))).tobytes()


@pytest.mark.parametrize("clients", [65, 66, 130])
def test_of_many_clients_the_middle_is_found_without_working_anything_out_anew(clients: int) -> None:
    rows = np.random.default_rng(clients).standard_normal((clients, 300), dtype=np.float32)
    assert columns._middle_mean(rows, (clients - 1) // 2).tobytes() == np.median(rows, axis=0).tobytes()
    np.testing.assert_allclose(columns._middle_mean(rows, 20), expected(rows, 20), rtol=0, atol=1e-6)
