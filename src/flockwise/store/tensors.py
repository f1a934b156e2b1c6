"""The safetensors format, array by array: a state may be gigabytes, of which no second copy is ever in memory."""

import json
from collections.abc import Iterator, Mapping
from typing import BinaryIO

import numpy as np

_WORDS = {
    "|b1": "BOOL", "|i1": "I8", "|u1": "U8", "<i2": "I16", "<u2": "U16", "<i4": "I32", "<u4": "U32", "<i8": "I64",
    "<u8": "U64", "<f2": "F16", "<f4": "F32", "<f8": "F64",
}  # fmt: skip
_KINDS = {word: kind for kind, word in _WORDS.items()}
_MOST_HEADER = 100_000_000  # as the format has it


def parts_of(arrays: Mapping[str, np.ndarray]) -> Iterator[memoryview | bytes]:
    """What a file of these arrays is made of, one part after the other."""
    rows = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    # The widest numbers come first, so that each begins at a multiple of its width.
    order = sorted(rows, key=lambda name: (-rows[name].dtype.itemsize, name))
    header, start = {}, 0
    for name in order:
        array, stop = rows[name], start + rows[name].nbytes
        kind = array.dtype.newbyteorder("<").str
        header[name] = {"dtype": _WORDS[kind], "shape": list(array.shape), "data_offsets": [start, stop]}
        start = stop
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(8, "little") + text
    for name in order:
        flat = np.ascontiguousarray(rows[name], dtype=rows[name].dtype.newbyteorder("<")).reshape(-1)
        yield flat.view(np.uint8).data


def arrays_in(file: BinaryIO, size: int) -> dict[str, np.ndarray]:
    """The arrays of a file of so many bytes, each read into its own memory; a ValueError if it is no such file."""
    length = int.from_bytes(file.read(8), "little")
    if not 0 < length <= min(size - 8, _MOST_HEADER):
        raise ValueError("no header")
    header = json.loads(file.read(length))
    if not isinstance(header, dict):
        raise ValueError("no names in its header")
    header.pop("__metadata__", None)
    found, start = {}, 0
    for name, told in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        array = np.empty(tuple(told["shape"]), dtype=_KINDS[told["dtype"]])
        if told["data_offsets"] != [start, start + array.nbytes] or 8 + length + start + array.nbytes > size:
            raise ValueError(f"{name!r:.40} is not where its header says")
        if file.readinto(array.reshape(-1).view(np.uint8).data) != array.nbytes:  # type: ignore[attr-defined]
            raise ValueError(f"{name!r:.40} ends too early")
        found[name] = array
        start += array.nbytes
    return found
