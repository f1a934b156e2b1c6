"""Rows that lie elsewhere are a matrix as far as kernels ask, and blocks of them cover all of it once."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from flockwise.kernels import stored
from flockwise.kernels.stored import ALIGNED, StoredRows, _pieces, by_columns, by_rows


@dataclass
class Source:
    """Rows in memory that remember what was read of them."""

    whole: np.ndarray
    read_so_far: list[tuple[int, int]] = field(default_factory=list)

    def read(self, places: np.ndarray, start: int, stop: int) -> np.ndarray:
        self.read_so_far.append((len(places), stop - start))
        return self.whole[places, start:stop]


@pytest.fixture
def rows() -> StoredRows:
    whole = np.arange(12.0, dtype=np.float32).reshape(4, 3)
    return StoredRows(Source(whole), np.array([3, 1, 0]), 3)


def test_they_have_the_shape_and_size_of_a_matrix(rows: StoredRows) -> None:
    assert rows.shape == (3, 3) and len(rows) == 3 and rows.size == 9 and rows.nbytes == 36
    assert rows.dtype == np.float32
    whole = rows.source.whole[[3, 1, 0]]  # type: ignore[attr-defined]
    np.testing.assert_array_equal(np.asarray(rows), whole)
    np.testing.assert_array_equal(list(rows), list(whole))
    assert np.asarray(rows).dtype == np.float32 and np.asarray(rows, dtype=np.float64).dtype == np.float64


def test_rows_and_columns_are_chosen_as_of_a_matrix(rows: StoredRows) -> None:
    whole = np.asarray(rows)
    np.testing.assert_array_equal(rows[1], whole[1])
    np.testing.assert_array_equal(rows[np.int64(2)], whole[2])
    np.testing.assert_array_equal(rows[:, 1:2], whole[:, 1:2])
    np.testing.assert_array_equal(rows[1:, :2], whole[1:, :2])
    chosen = rows[np.array([2, 0])]
    assert isinstance(chosen, StoredRows)
    np.testing.assert_array_equal(np.asarray(chosen), whole[[2, 0]])
    assert isinstance(rows[np.array([True, False, True])], StoredRows)


def test_rows_are_told_apart_by_who_they_are(rows: StoredRows) -> None:
    """To compare what they hold would read all of it."""
    same = StoredRows(rows.source, rows.places, rows.columns)
    assert rows == rows and rows != same and len({rows, same}) == 2
    assert rows.source.read_so_far == []  # type: ignore[attr-defined]


@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 200, 1000])
@pytest.mark.parametrize("length", [0, 1, 3, 64, 251])
@pytest.mark.parametrize("megabyte", [4 * 64 * 251, 4 * 251, 4 * 10, 64 << 20])
def test_pieces_cover_everything_once_and_fit_into_a_block(
    count: int, length: int, megabyte: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored, "BLOCK_BYTES", megabyte)
    pieces = _pieces(count, length)
    assert [place for piece in pieces for place in range(count)[piece]] == list(range(count))
    fit = max(megabyte // (4 * max(length, 1)), 1)
    sizes = [piece.stop - piece.start for piece in pieces]
    assert max(sizes) <= fit or fit < 1
    if fit >= ALIGNED:  # blocks end where registers do, and are of about the same size
        assert all(piece.start % ALIGNED == 0 for piece in pieces)
        assert max(sizes) - min(sizes) <= 2 * ALIGNED
    else:
        assert max(sizes) - min(sizes) <= 1
    # As few as that allows.
    assert len(pieces) <= max(-(-count // (fit // ALIGNED * ALIGNED if fit >= ALIGNED else fit)), 1)


@pytest.mark.parametrize("many", [10, 500])
def test_kernels_are_called_on_blocks_of_what_is_stored(many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = np.random.default_rng(0).random((many, 300), dtype=np.float32)
    source = Source(whole)
    rows = StoredRows(source, np.arange(many), 300)
    monkeypatch.setattr(stored, "BLOCK_BYTES", 4 * 64 * many)
    np.testing.assert_array_equal(by_columns(lambda block: block.max(axis=0), rows), whole.max(axis=0))
    assert len(source.read_so_far) > 1 and all(
        read[0] == many and read[1] < 300 for read in source.read_so_far
    )
    source.read_so_far.clear()
    monkeypatch.setattr(stored, "BLOCK_BYTES", 4 * 300 * 4)
    np.testing.assert_array_equal(by_rows(lambda block: block.max(axis=1), rows), whole.max(axis=1))
    assert len(source.read_so_far) > 1 and all(
        read[0] < many and read[1] == 300 for read in source.read_so_far
    )
    np.testing.assert_array_equal(by_rows(lambda block: block.max(axis=1), whole), whole.max(axis=1))


def test_a_block_is_sixty_four_megabytes() -> None:
    assert stored.BLOCK_BYTES == 64 << 20 and ALIGNED == 64
