"""What kernels ask of their input, at the bounds of what they take."""

import numpy as np
import pytest

from flockwise.errors import InputError
from flockwise.kernels import stored
from flockwise.kernels.checks import (
    as_count,
    as_radius,
    as_rows,
    as_updates,
    as_vector,
    as_weights,
    need_clients,
    refuse_not_finite,
)  # fmt: skip


def test_a_matrix_that_is_right_is_not_copied() -> None:
    right = np.ones((2, 3), np.float32)
    assert as_updates(right) is right
    for other in (
        right.astype(np.float64),
        np.asfortranarray(np.ones((2, 3), np.float32)),
        [[1, 1, 1], [1, 1, 1]],
    ):
        found = as_updates(other)
        assert found is not other and found.dtype == np.float32 and found.flags.c_contiguous
        assert np.array_equal(found, right)
    assert as_updates(np.ones((1, 1), np.float32)).shape == (1, 1)


def test_rows_on_disk_stay_there_if_they_are_more_than_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    class Source:
        def read(self, places: np.ndarray, start: int, stop: int) -> np.ndarray:
            return whole[places, start:stop]

    whole = np.arange(6, dtype=np.float32).reshape(2, 3)
    rows = stored.StoredRows(Source(), np.arange(2), 3)
    monkeypatch.setattr(stored, "BLOCK_BYTES", 23)
    assert as_rows(rows) is rows and as_rows(whole) is whole
    assert np.array_equal(as_rows(whole.tolist()), whole)
    monkeypatch.setattr(stored, "BLOCK_BYTES", 24)
    found = as_rows(rows)
    assert isinstance(found, np.ndarray) and np.array_equal(found, whole)
    monkeypatch.setattr(stored, "BLOCK_BYTES", -1)
    with pytest.raises(InputError, match="must be"):
        as_rows(rows[np.arange(0)])


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (3,), (1, 2, 3), ()])
def test_what_is_no_matrix_is_named(shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match=r"^rows of shape .*: must be \(clients, parameters\)"):
        as_updates(np.ones(shape, np.float32), "rows")


@pytest.mark.parametrize("values", [[[1, 2], [3]], [["x"]], None, object()])
def test_what_are_no_numbers_is_named(values: object) -> None:
    with pytest.raises(InputError, match=r"^updates"):
        as_updates(values)


def test_a_vector_is_of_its_size_and_finite() -> None:
    assert (
        as_vector([1, 2], 2, "root").tolist() == [1, 2] and as_vector([1, 2], 2, "root").dtype == np.float32
    )
    for wrong in ([1], [1, 2, 3], [[1, 2]]):
        with pytest.raises(InputError, match=r"^root of shape .*: must be \(2,\)"):
            as_vector(wrong, 2, "root")
    for bad in (np.nan, np.inf, -np.inf, 1e39):
        with pytest.raises(InputError, match=r"^root\[1\] is not finite"):
            as_vector([0.0, bad], 2, "root")


def test_weights_sum_to_one() -> None:
    assert as_weights(None, 4).tolist() == [0.25] * 4
    assert as_weights([1, 3], 2).tolist() == [0.25, 0.75]
    assert as_weights([0, 3], 2).tolist() == [0.0, 1.0]
    assert as_weights([1e308, 1e308], 2).tolist() == [0.5, 0.5]
    assert as_weights([5e-324, 5e-324], 2).tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ([1], r"weights of shape \(1,\): must be \(2,\)"), ([[1, 2]], "weights of shape"), ([1, -1], r"weights\[1\] = -1.0"),
        ([np.nan, 1], r"weights\[0\] = nan"), ([1, np.inf], r"weights\[1\] = inf"), ([0, 0], "must not all be zero"),
        (["x", 1], "must be numbers"), ([0, -1], r"weights\[1\] = -1.0"),
        ([0.25, -1], r"weights\[1\] = -1.0"), ([-1e-300, 1], r"weights\[0\] = -1e-300"),
    ],
)  # fmt: skip
def test_weights_that_are_none_are_named(weights: list[object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        as_weights(weights, 2)


def test_a_radius_is_above_zero() -> None:
    assert as_radius(5e-324) == 5e-324 and as_radius(3) == 3.0 and isinstance(as_radius(3), float)
    for wrong in (0, 0.0, -1e-9, np.nan, np.inf):
        with pytest.raises(InputError, match=r"^bound = .*: must be a finite number above 0"):
            as_radius(wrong, "bound")
    with pytest.raises(InputError, match=r"^radius = 0"):
        as_radius(0)


def test_a_count_lies_between_its_bounds() -> None:
    assert as_count(2, "f", 2) == 2 and as_count(10**9, "f", 2) == 10**9
    assert as_count(2, "f", 2, 3) == 2 and as_count(3, "f", 2, 3) == 3 and as_count(3.0, "f", 2, 3) == 3  # type: ignore[arg-type]
    for wrong, said in ((1, "at least 2"), (-5, "at least 2")):
        with pytest.raises(InputError, match=rf"^f = {wrong}: must be {said}"):
            as_count(wrong, "f", 2)
    for number in (1, 4):
        with pytest.raises(InputError, match=rf"^f = {number}: must be from 2 to 3"):
            as_count(number, "f", 2, 3)
    for odd in (True, 2.5):
        with pytest.raises(InputError, match="must be a whole number"):
            as_count(odd, "f", 0)  # type: ignore[arg-type]


def test_a_rule_says_how_many_clients_it_needs() -> None:
    need_clients(5, 5, 1, "krum")
    with pytest.raises(
        InputError, match=r"f = 1: krum needs at least 5 clients, got 4; lower f or sample more clients"
    ):
        need_clients(4, 5, 1, "krum")


def test_the_first_number_that_is_not_finite_is_named() -> None:
    rows = np.zeros((3, 4), np.float32)
    refuse_not_finite(rows)
    rows[1, 2], rows[1, 3], rows[2, 0] = np.nan, np.inf, np.nan
    with pytest.raises(InputError, match=r"^rows\[1, 2\] = nan: .*leave client 1 out"):
        refuse_not_finite(rows, "rows")
    rows[1] = [0, 0, 0, -np.inf]
    with pytest.raises(InputError, match=r"^updates\[1, 3\] = -inf"):
        refuse_not_finite(rows)
