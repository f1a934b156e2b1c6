"""Inner products by NumPy: in float32 over blocks of columns, then in float64, in an order that never changes."""

import numpy as np
import pytest

from flockwise.kernels.gram import cross, gram
from flockwise.kernels.native import loading

BLOCK, PARTS = 8192, 8
COLUMNS = 2 * PARTS * BLOCK + 5  # more blocks than partial sums


@pytest.fixture(autouse=True)
def by_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "SMALLEST", 1 << 62)


def in_order(left: np.ndarray, right: np.ndarray, center: np.ndarray | None = None) -> np.ndarray:
    """As said above, one after the other; with a center, of one matrix with itself."""
    starts = list(range(0, left.shape[1], BLOCK))
    total = np.zeros((len(left), len(right)))
    for number in range(PARTS):
        partial = np.zeros_like(total)
        for start in starts[len(starts) * number // PARTS : len(starts) * (number + 1) // PARTS]:
            piece = slice(start, start + BLOCK)
            moved = left[:, piece] if center is None else left[:, piece] - center[piece]
            partial += moved @ (right[:, piece] if center is None else moved).T
        total = total + partial if number else partial
    return total


def random_rows(seed: int, clients: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((clients, COLUMNS), dtype=np.float32)


@pytest.mark.parametrize("clients", [2, 5])
def test_the_bits_of_products_are_those_of_sums_in_this_order(clients: int) -> None:
    """The bits of runs on record depend on it."""
    rows, center = random_rows(1, clients), random_rows(2, 1)[0]
    assert gram(rows).tobytes() == in_order(rows, rows).tobytes()
    assert gram(rows, center).tobytes() == in_order(rows, rows, center).tobytes()
    members = np.array([2, 0])
    others = random_rows(3, 3)
    assert cross(rows, others, members).tobytes() == in_order(rows, others[members]).tobytes()


@pytest.mark.parametrize("scale", [1e25, 1e-25])
def test_what_float32_cannot_square_is_taken_in_float64(scale: float) -> None:
    rows = (random_rows(4, 3)[:, :9000] * scale).astype(np.float32)
    exact = rows.astype(np.float64)
    np.testing.assert_allclose(gram(rows), exact @ exact.T, rtol=1e-12)
    np.testing.assert_allclose(
        cross(rows, rows, np.arange(3)), exact @ exact.T if scale > 1 else 0.0, rtol=1e-12
    )
