"""A small PNG reader: 8-bit RGB or grey without interlacing, all that packed data sets use.

It spares a dependency on an image library for one data set in one kind of package.
"""

import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flockwise.errors import DataError

SIGNATURE = b"\x89PNG\r\n\x1a\n"
CHANNELS = {0: 1, 2: 3}
LARGEST = 100_000_000  # bytes of pixels; a batch of CIFAR-10 has 31 million


def read_png(content: bytes, name: str) -> NDArray[np.uint8]:
    """(height, width, channels) of a PNG file."""
    try:
        return _read(content)
    except (ValueError, zlib.error, struct.error) as problem:
        raise DataError(
            f"{name}: truncated or damaged PNG ({problem}); delete it and get it again"
        ) from problem


def _read(content: bytes) -> NDArray[np.uint8]:
    if not content.startswith(SIGNATURE):
        raise ValueError("no PNG signature")
    header, packed = None, []
    position, ended = len(SIGNATURE), False
    while not ended:
        length, kind = struct.unpack(">I4s", content[position : position + 8])
        body = content[position + 8 : position + 8 + length]
        (checksum,) = struct.unpack(">I", content[position + 8 + length : position + 12 + length])
        if zlib.crc32(kind + body) != checksum:
            raise ValueError("wrong checksum")
        if kind == b"IHDR":
            header = struct.unpack(">IIBBBBB", body)
        elif kind == b"IDAT":
            packed.append(body)
        ended = kind == b"IEND"
        position += 12 + length
    if header is None or header[2] != 8 or header[3] not in CHANNELS or header[4:] != (0, 0, 0):
        raise ValueError("not 8-bit RGB or grey without interlacing")
    width, height, channels = header[0], header[1], CHANNELS[header[3]]
    if not 0 < width * height * channels <= LARGEST:
        raise ValueError(f"{width} x {height} pixels")
    expected = height * (1 + width * channels)
    unpacker = zlib.decompressobj()
    raw = unpacker.decompress(b"".join(packed), expected + 1)
    if len(raw) != expected:
        raise ValueError(f"{len(raw)} bytes of pixels where {expected} belong")
    rows = np.frombuffer(raw, np.uint8).reshape(height, 1 + width * channels)
    return _unfilter(rows, channels).reshape(height, width, channels)


def _unfilter(rows: NDArray[np.uint8], channels: int) -> NDArray[np.uint8]:
    """Undo the prediction of each row (PNG specification, section 9)."""
    result = np.empty((len(rows), rows.shape[1] - 1), np.uint8)
    above = np.zeros(rows.shape[1] - 1, np.uint8)
    for number, row in enumerate(rows):
        kind, values = int(row[0]), row[1:]
        if kind == 0:
            line = values
        elif kind == 1:  # the left neighbour was subtracted, so a running sum modulo 256 restores it
            line = np.cumsum(values.reshape(-1, channels), axis=0, dtype=np.uint8).ravel()
        elif kind == 2:
            line = values + above
        elif kind in (3, 4):
            line = _slow_row(kind, values.tolist(), above.tolist(), channels)
        else:
            raise ValueError(f"unknown filter {kind}")
        result[number] = above = line
    return result


def _slow_row(kind: int, values: list[int], above: list[int], channels: int) -> Any:
    line: list[int] = []
    for place, value in enumerate(values):
        left = line[place - channels] if place >= channels else 0
        up = above[place]
        corner = above[place - channels] if place >= channels else 0
        guess = (left + up) // 2 if kind == 3 else _paeth(left, up, corner)
        line.append((value + guess) & 255)
    return np.array(line, np.uint8)


def _paeth(left: int, up: int, corner: int) -> int:
    estimate = left + up - corner
    return min((left, up, corner), key=lambda value: abs(estimate - value))
