"""Rules on updates that lie on disk: the same as in memory, with a block of them in memory."""

import numpy as np
import pytest

from flockwise.aggregation import PRE_AGGREGATIONS, RULES, bucketing, krum, mean, median, multi_krum
from flockwise.engine.scratch import Scratch
from flockwise.kernels import stored
from flockwise.kernels.stored import StoredRows
from flockwise.testing.examples import ordinary

IN_BLOCKS = [
    name for pieces in (RULES, PRE_AGGREGATIONS) for name, piece in pieces.items() if piece.in_blocks
]


class Watched:
    """Rows in memory that count how many numbers were asked for at once."""

    def __init__(self, rows):
        self._rows, self.most = rows, 0
        self.rows = StoredRows(self, np.arange(len(rows)), rows.shape[1])

    def read(self, places, start, stop):
        self.most = max(self.most, len(places) * (stop - start))
        return np.ascontiguousarray(self._rows[places, start:stop])


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(
        stored, "BLOCK_BYTES", 4 * 64 * 251
    )  # 64 columns of 251 rows, 5 rows of 3,001 columns


def called(name, updates):
    piece = RULES.get(name) or PRE_AGGREGATIONS[name]
    given = {"root": np.ones(updates.shape[1], np.float32)} if "root" in piece.wants else {}
    return piece.function(updates, **piece.example, **given)


@pytest.mark.parametrize("name", IN_BLOCKS)
def test_a_rule_that_works_in_blocks_gives_what_it_gives_in_memory(name, small_blocks):
    rows = ordinary(251, 3001)
    source = Watched(rows)
    found, expected = called(name, source.rows), called(name, rows)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())
    assert 0 < source.most <= 64 * 251


@pytest.mark.parametrize("name", ["median", "bucketing"])
def test_what_only_sorts_or_groups_has_the_same_bits(name, small_blocks):
    rows = ordinary(251, 3001)
    assert called(name, Watched(rows).rows).tobytes() == called(name, rows).tobytes()


def test_the_rules_that_the_docs_name_work_in_blocks_and_the_others_say_why_not():
    assert {"mean", "median", "trimmed-mean", "norm-bound", "fltrust", "centered-clipping"} <= set(IN_BLOCKS)
    assert mean().whole == "" == median().whole
    assert krum().whole == "aggregation.name = 'krum' needs all of them at once"
    assert multi_krum(before=[bucketing]).whole == ""
    assert "aggregation.before = 'clipping'" in mean(before=[PRE_AGGREGATIONS["clipping"]]).whole


def test_a_rule_that_needs_all_of_them_reads_all_of_them(small_blocks):
    rows = ordinary(251, 3001)
    assert called("krum", Watched(rows).rows).tobytes() == called("krum", rows).tobytes()


def test_rows_on_disk_are_what_was_written_in_any_order_and_choosing_reads_nothing():
    rows, scratch = ordinary(7, 1000), Scratch(7, 1000)
    scratch.write([6, 0, 3], rows[[6, 0, 3]])
    scratch.write([1, 2, 4, 5], rows[[1, 2, 4, 5]])
    assert np.array_equal(np.asarray(scratch.rows), rows)
    assert np.array_equal(scratch.rows[:, 10:20], rows[:, 10:20])
    chosen = scratch.rows[rows[:, 0] > 0]
    assert isinstance(chosen, StoredRows)
    assert np.array_equal(np.asarray(chosen), rows[rows[:, 0] > 0])
    assert np.array_equal(chosen[0], rows[rows[:, 0] > 0][0])
    assert np.array_equal(np.stack(list(scratch.rows)), rows)
