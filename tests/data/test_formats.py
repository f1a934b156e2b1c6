import gzip
import io
import lzma
import pickle
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from flockwise.data.formats import gunzip, read_idx, read_npz, read_raw, unxz
from flockwise.errors import DataError

shapes = arrays.array_shapes(min_dims=1, max_dims=4, max_side=5)


def idx(array: np.ndarray) -> bytes:
    code = 8 if array.dtype == np.uint8 else 12
    header = struct.pack(f">HBB{array.ndim}I", 0, code, array.ndim, *array.shape)
    return header + array.astype(array.dtype.newbyteorder(">")).tobytes()


@given(arrays.arrays(np.uint8, shapes) | arrays.arrays(np.int32, shapes))
def test_an_idx_file_gives_back_its_array(array: np.ndarray) -> None:
    assert np.array_equal(read_idx(idx(array), "file"), array)


@given(st.binary(max_size=64))
def test_bytes_that_are_no_idx_file_are_refused_or_read_never_crash(content: bytes) -> None:
    try:
        read_idx(content, "file")
    except DataError as problem:
        assert str(problem).startswith("file: ")


@pytest.mark.parametrize("keep", [3, 9, 15, 20, -1])
def test_a_truncated_idx_file_is_named(keep: int) -> None:
    with pytest.raises(DataError, match=r"^images: .*get it again"):
        read_idx(idx(np.zeros((3, 2, 2), np.uint8))[:keep], "images")


def test_an_idx_file_of_nothing_is_refused_whatever_its_other_sizes() -> None:
    header = struct.pack(">HBB4I", 0, 12, 4, 0x0CE1, 0x040D000C, 0x040D0100, 0)
    with pytest.raises(DataError, match=r"^images: .*promises nothing at all.*get it again"):
        read_idx(header, "images")


@pytest.mark.parametrize(("pack", "unpack"), [(gzip.compress, gunzip), (lzma.compress, unxz)])
def test_packed_files_are_unpacked_or_refused(pack, unpack) -> None:  # type: ignore[no-untyped-def]
    content = bytes(range(256)) * 20
    assert unpack(pack(content), "file", len(content)) == content
    with pytest.raises(DataError, match="file: truncated or damaged"):
        unpack(pack(content)[:-10], "file", len(content))
    with pytest.raises(DataError, match="file: truncated or damaged"):
        unpack(b"not packed at all", "file", 100)
    with pytest.raises(DataError, match="more than 5,119 bytes"):
        unpack(pack(content), "file", len(content) - 1)


def npz(**members: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.savez_compressed(stream, **members)
    return stream.getvalue()


def test_an_npz_file_gives_the_named_arrays_only() -> None:
    content = npz(a=np.arange(3), b=np.zeros(2))
    assert read_npz(content, "file", ("a",), 10_000)["a"].tolist() == [0, 1, 2]
    with pytest.raises(DataError, match="file: truncated or damaged"):
        read_npz(content, "file", ("c",), 10_000)
    with pytest.raises(DataError, match="file: truncated or damaged"):
        read_npz(content[:100], "file", ("a",), 10_000)
    with pytest.raises(DataError, match="more than 10 bytes"):
        read_npz(content, "file", ("a",), 10)


def test_pickled_objects_in_an_npz_file_are_refused() -> None:
    content = npz(a=np.array([{"harmless": 1}], dtype=object))
    with pytest.raises(DataError, match="pickled objects"):
        read_npz(content, "file", ("a",), 10_000)
    with pytest.raises(DataError, match="truncated or damaged"):
        read_npz(pickle.dumps([1, 2]), "file", ("a",), 10_000)


def test_raw_bytes_must_fit_their_shape() -> None:
    assert read_raw(bytes(6), "file", (2, 3)).shape == (2, 3)
    with pytest.raises(DataError, match="file: has 5 bytes where 6 belong"):
        read_raw(bytes(5), "file", (2, 3))
