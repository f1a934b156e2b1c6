import struct
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from flockwise.data.png import SIGNATURE, read_png
from flockwise.errors import DataError


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def predicted(kind: int, left: int, up: int, corner: int) -> int:
    """The predictors of the PNG specification, word for word."""
    if kind == 4:
        estimate = left + up - corner
        a, b, c = abs(estimate - left), abs(estimate - up), abs(estimate - corner)
        return left if a <= b and a <= c else up if b <= c else corner
    return (0, left, up, (left + up) // 2)[kind]


def png(image: np.ndarray, filters: list[int], size: tuple[int, int] | None = None) -> bytes:
    height, width, channels = image.shape
    rows = image.reshape(height, -1).astype(int)
    raw = bytearray()
    for number, kind in enumerate(filters):
        raw.append(kind)
        for place in range(width * channels):
            left = rows[number, place - channels] if place >= channels else 0
            up = rows[number - 1, place] if number else 0
            corner = rows[number - 1, place - channels] if number and place >= channels else 0
            raw.append((rows[number, place] - predicted(kind, left, up, corner)) % 256)
    w, h = size or (width, height)
    header = struct.pack(">IIBBBBB", w, h, 8, 2 if channels == 3 else 0, 0, 0, 0)
    packed = zlib.compress(bytes(raw))
    half = len(packed) // 2
    pieces = (chunk(b"IHDR", header), chunk(b"IDAT", packed[:half]), chunk(b"IDAT", packed[half:]))
    return SIGNATURE + b"".join(pieces) + chunk(b"IEND", b"")


@given(st.data(), st.sampled_from([1, 3]))
def test_every_filter_is_undone(data: st.DataObject, channels: int) -> None:
    shape = (data.draw(st.integers(1, 6)), data.draw(st.integers(1, 6)), channels)
    image = data.draw(arrays.arrays(np.uint8, shape))
    filters = [data.draw(st.integers(0, 4)) for _ in range(shape[0])]
    assert np.array_equal(read_png(png(image, filters), "file"), image)


@pytest.mark.parametrize(
    "broken",
    [
        b"",
        b"GIF89a",
        png(np.zeros((2, 2, 3), np.uint8), [0, 0])[:-20],
        png(np.zeros((2, 2, 3), np.uint8), [0, 0]).replace(b"IHDR", b"IHDX"),
        png(np.zeros((2, 2, 3), np.uint8), [0, 0], size=(2, 3)),
        png(np.zeros((2, 2, 3), np.uint8), [0, 0], size=(1, 2)),
        SIGNATURE + chunk(b"IEND", b""),
    ],
)
def test_broken_files_are_refused(broken: bytes) -> None:
    with pytest.raises(DataError, match=r"^file: truncated or damaged PNG"):
        read_png(broken, "file")
