"""Checkpoints array by array are the files that the safetensors library reads and writes."""

import io

import numpy as np
import pytest
from safetensors.numpy import load, save

from flockwise.store.tensors import arrays_in, parts_of

ARRAYS = {
    "models": np.random.default_rng(0).standard_normal((3, 5)).astype(np.float32),
    "labels": np.arange(-1, 6), "apart": np.zeros(7, np.int8), "memory/x": np.array([True, False]),
    "none": np.zeros((0, 4), np.float64), "turned": np.arange(12.0).reshape(3, 4).T,
}  # fmt: skip


def alike(found: dict[str, np.ndarray]) -> bool:
    return found.keys() == ARRAYS.keys() and all(
        found[name].dtype == array.dtype and np.array_equal(found[name], array)
        for name, array in ARRAYS.items()
    )


def test_the_library_reads_what_is_written_and_the_other_way_round() -> None:
    written = b"".join(bytes(part) for part in parts_of(ARRAYS))
    assert alike(load(written)) and alike(arrays_in(io.BytesIO(written), len(written)))
    theirs = save({name: np.ascontiguousarray(array) for name, array in ARRAYS.items()})
    assert alike(arrays_in(io.BytesIO(theirs), len(theirs)))


@pytest.mark.parametrize("cut", [0, 4, 8, 20, -1])
def test_a_file_that_ends_too_early_is_refused(cut: int) -> None:
    written = b"".join(bytes(part) for part in parts_of(ARRAYS))[:cut]
    with pytest.raises(ValueError):
        arrays_in(io.BytesIO(written), len(written))


def test_an_array_that_is_not_where_the_header_says_is_refused() -> None:
    written = b"".join(bytes(part) for part in parts_of({"a": np.zeros(4, np.float32)}))
    forged = written.replace(b"[0,16]", b"[0,12]")
    with pytest.raises(ValueError, match="not where its header says"):
        arrays_in(io.BytesIO(forged), len(forged))
