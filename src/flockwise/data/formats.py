"""Reads the file formats that image data sets come in, trusting none of their bytes."""

import csv
import gzip
import io
import lzma
import math
import struct
import tokenize
import zipfile
import zlib
from typing import Any

import numpy as np
from numpy.lib import format
from numpy.typing import NDArray

from flockwise.errors import DataError

IDX_TYPES: dict[int, np.dtype[Any]] = {8: np.dtype(np.uint8), 12: np.dtype(">i4")}
# All that the standard library and NumPy are known to raise on bytes that are not what they should be.
DAMAGED = (
    OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, struct.error, tokenize.TokenError, ValueError,
    LookupError, TypeError, AttributeError, SyntaxError, OverflowError, MemoryError, RuntimeError, csv.Error,
)  # fmt: skip


def damaged(name: object, problem: BaseException) -> DataError:
    """The error that says which file is damaged and why, in one line."""
    return DataError(f"{name}: truncated or damaged ({why(problem)}); delete it and get it again")


def why(problem: BaseException) -> str:
    """What others' code says of a problem, in one line."""
    return (str(problem).strip().splitlines() or [type(problem).__name__])[0][:200]


def gunzip(content: bytes, name: str, limit: int) -> bytes:
    """The unpacked content of a gzip file; more than `limit` bytes are refused."""
    return _unpack(gzip.GzipFile(fileobj=io.BytesIO(content)), name, limit)


def unxz(content: bytes, name: str, limit: int) -> bytes:
    """The unpacked content of an xz file; more than `limit` bytes are refused."""
    return _unpack(lzma.LZMAFile(io.BytesIO(content)), name, limit)


def _unpack(stream: gzip.GzipFile | lzma.LZMAFile, name: str, limit: int) -> bytes:
    try:
        with stream:
            content = stream.read(limit + 1)
    except DAMAGED as problem:
        raise damaged(name, problem) from problem
    if len(content) > limit:
        raise DataError(f"{name}: unpacks to more than {limit:,} bytes, so it is not this data set")
    return content


def read_idx(content: bytes, name: str) -> NDArray[Any]:
    """The array in an IDX file, MNIST's format: 2 zero bytes, type, dimensions, sizes, data."""
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] not in IDX_TYPES or not 1 <= content[3] <= 4:
        raise DataError(f"{name}: is not an IDX file of bytes or 32-bit integers; delete it and get it again")
    kind, dimensions = IDX_TYPES[content[2]], content[3]
    start = 4 + 4 * dimensions
    shape = tuple(int(size) for size in np.frombuffer(content[4:start].ljust(4 * dimensions, b"\0"), ">u4"))
    promised = start + math.prod(shape) * kind.itemsize
    if len(content) != promised:
        raise DataError(
            f"{name}: has {len(content):,} bytes where its header promises {promised:,}; "
            "delete it and get it again"
        )
    if 0 in shape:  # the other sizes may then be anything, and too large for any array
        raise DataError(f"{name}: its header promises nothing at all; delete it and get it again")
    values: NDArray[Any] = np.frombuffer(content, kind, offset=start)
    return values.reshape(shape)


def read_raw(content: bytes, name: str, shape: tuple[int, ...]) -> NDArray[np.uint8]:
    """Bytes as an array of this shape."""
    if len(content) != math.prod(shape):
        raise DataError(
            f"{name}: has {len(content):,} bytes where {math.prod(shape):,} belong; "
            "delete it and get it again"
        )
    return np.frombuffer(content, np.uint8).reshape(shape)


def read_npz(content: bytes, name: str, keys: tuple[str, ...], limit: int) -> dict[str, NDArray[Any]]:
    """The named arrays of an npz file; pickled objects are refused."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if sum(member.file_size for member in archive.infolist()) > limit:
                raise DataError(f"{name}: unpacks to more than {limit:,} bytes, so it is not this data set")
            return {key: _read_npy(archive, f"{key}.npy", limit) for key in keys}
    except DAMAGED as problem:
        raise damaged(name, problem) from problem


def _read_npy(archive: zipfile.ZipFile, member: str, limit: int) -> NDArray[Any]:
    with archive.open(member) as packed:
        return read_npy(packed.read(limit + 1), member)


def read_npy(content: bytes, name: str) -> NDArray[Any]:
    """The array in a .npy file; one of `DAMAGED` if there is none.

    NumPy's own reader makes room for as many numbers as a header promises; this one looks at what is there.
    """
    stream = io.BytesIO(content)
    headers = {(1, 0): format.read_array_header_1_0, (2, 0): format.read_array_header_2_0}
    version = format.read_magic(stream)
    if version not in headers:
        raise ValueError(f"{name} is of version {version}")
    shape, by_columns, kind = headers[version](stream)
    data = stream.read()
    if kind.hasobject:
        raise ValueError(f"{name} holds pickled objects, which could do anything")
    if min(shape, default=0) < 0 or math.prod(shape) * kind.itemsize != len(data):
        raise ValueError(f"{name} holds {len(data):,} bytes, which are not {kind} of shape {shape}")
    values: NDArray[Any] = np.frombuffer(data, kind)
    return values.reshape(shape, order="F" if by_columns else "C")
