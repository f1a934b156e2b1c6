"""Arrays of very many clients: what is read is what was written, and hostile bytes are refused."""

import json
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flockwise.errors import RunError
from flockwise.store import create_run, open_run
from flockwise.store.compact import MANY, Base, is_compact, kept, unpacked
from flockwise.store.policy import CheckpointPolicy
from flockwise.store.writer import RunWriter

SEVERAL = MANY + 7


def there_and_back(array: np.ndarray, base: np.ndarray | None = None) -> tuple[str, np.ndarray, int]:
    before = None if base is None else Base(5, base)
    dtype, shape, data = kept(array, lambda: before)
    return dtype, unpacked(dtype, shape, data, lambda round: {5: base}[round]), len(data)


@given(
    st.sampled_from(["f4", "f8", "i8", "i1", "?"]), st.floats(0, 1), st.integers(0, 1000), st.integers(0, 99)
)
@settings(max_examples=40, deadline=None)
def test_what_is_read_is_what_was_written(kind: str, share: float, high: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    array = random.integers(0, high % 100 + 1, SEVERAL).astype(kind)
    if kind.startswith("f"):
        array[random.random(SEVERAL) > share] = np.nan
    else:
        array[random.random(SEVERAL) > share] = 0
    base = array.copy()
    base[random.random(SEVERAL) < 0.01] = 1
    for before in (None, base):
        dtype, found, _ = there_and_back(array, before)
        assert is_compact(dtype) and found.dtype == array.dtype
        assert found.tobytes() == array.tobytes() or np.array_equal(found, array, equal_nan=True)


def test_a_few_changes_take_a_few_bytes() -> None:
    labels = np.random.default_rng(0).integers(0, 20, 100_000)
    moved = labels.copy()
    moved[::1000] = 3
    dtype, found, size = there_and_back(moved, labels)
    assert dtype == "<i8 @5 |i1" and size < 300 and np.array_equal(found, moved)
    assert there_and_back(labels)[2] < 70_000  # 800,000 bytes as they are


def test_small_arrays_stay_as_they_are() -> None:
    assert kept(np.arange(5), lambda: None)[0] == "<i8"


@pytest.mark.parametrize(
    ("dtype", "shape", "content"),
    [
        ("<i8 * |i1", "[30000]", b"abc"),
        ("<i8 0 |i1", "[10]", np.array([11], "<u4").tobytes() + b"x"),
        ("<i8 0 |i1", "[10]", b"abc"),
        ("<i8 x |i1", "[10]", b""),
        ("<O8 * |i1", "[10]", b""),
        ("<i8 * |i1", "[3, 3]", b""),
        ("<i8 * |i1", "[1000000000]", b""),
        ("<i8 * |i1", "[10]", b"0" * 10_000_000),
    ],
)
def test_bytes_that_are_no_array_are_refused(dtype: str, shape: str, content: bytes) -> None:
    with pytest.raises(ValueError):
        unpacked(dtype, shape, zlib.compress(content), lambda round: np.zeros(0))


def test_a_record_of_many_clients_is_read_as_it_was_written_also_by_a_run_that_went_on(
    tmp_path: Path,
) -> None:
    random, policy = np.random.default_rng(1), CheckpointPolicy(every=10**9)
    rows = [np.zeros(SEVERAL, np.int64), random.integers(-1, 20, SEVERAL)]
    for _ in range(4):
        rows.append(np.where(random.random(SEVERAL) < 0.01, 3, rows[-1]))
    rows.append(random.integers(-1, 20, SEVERAL))  # all anew
    rows.append(rows[-1])
    writer = create_run(tmp_path / "run", {"name": "x"}, {}, policy)
    for round, labels in enumerate(rows, 1):
        if round == 4:  # somebody else goes on
            writer.close()
            writer = RunWriter(tmp_path / "run", policy)
        writer.commit(round, 0.0, {}, {"flock": labels}, (), {})
    writer.close()
    run = open_run(tmp_path / "run")
    assert np.array_equal(run.array("flock")[1], np.stack(rows))
    for (round, found), labels in zip(run.each("flock"), rows, strict=True):
        assert np.array_equal(found, labels) and np.array_equal(run.array_at("flock", round), labels)
    assert run.damage == []
    forms = [row[0].split()[1] for row in run._rows("arrays", "SELECT dtype FROM arrays ORDER BY round")]
    assert forms == ["0", "*", "@2", "@2", "@2", "@2", "*", "@7"]


def test_an_array_based_on_one_that_is_gone_is_named(tmp_path: Path) -> None:
    labels = np.random.default_rng(1).integers(0, 9, SEVERAL)
    with create_run(tmp_path / "run", {"name": "x"}, {}, CheckpointPolicy(every=10**9)) as writer:
        writer.commit(1, 0.0, {}, {"flock": labels}, (), {})
        writer.commit(2, 0.0, {}, {"flock": labels}, (), {})
        writer._ledger.rows("DELETE FROM arrays WHERE round = 1")
    with pytest.raises(RunError, match="round 1, which it is based on, is not there"):
        open_run(tmp_path / "run").array_at("flock", 2)


def test_the_table_of_many_clients_is_read_row_by_row(tmp_path: Path) -> None:
    columns = {name: np.arange(SEVERAL) % (number + 2) for number, name in
               enumerate(("truth", "attacker", "train", "validation", "test"))}  # fmt: skip
    with create_run(tmp_path / "run", {"name": "x"}, {}, CheckpointPolicy(every=10**9)) as writer:
        writer.client_columns(columns)
        writer.client_columns(columns)
    run = open_run(tmp_path / "run")
    assert len(run.clients) == SEVERAL and run.damage == []
    assert run.clients[7] == {
        "client": 7, "name": "client 7", "truth": 1, "attacker": 1, "train": 3, "validation": 2, "test": 1,
        "address": None, "hour": None, "user": None, "about": {},
    }  # fmt: skip
    assert run.client_column("train").tolist() == columns["train"].tolist()
    assert run.called(3) == "client 3" and json.dumps(run.clients[:2])
