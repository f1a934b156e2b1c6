"""Flower's array records as one flat vector, and back; what comes from outside is checked before it is read."""

import io
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from flwr.app import Array, ArrayRecord

from flockwise.errors import InputError
from flockwise.models.spans import joined_spans
from flockwise.scoring import ACCURACY, Scoring
from flockwise.stages.report import Report
from flockwise.types import Vector

_NUMPY = "numpy.ndarray"  # the only serialisation Flower's own records use
_HEADER = 4096  # bytes an .npy header may take
_STATISTICS = ("running_mean", "running_var")  # of batch normalisation


@dataclass(frozen=True)
class Entry:
    """One array of the record and its place in the vector: `vector[start:stop]`, row-major."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    start: int
    stop: int


@dataclass(frozen=True)
class RecordLayout:
    """Where each array of a record lies in the vector.

    Floating point arrays are learned. Whole-number and boolean arrays (such as the batch counters of batch
    normalisation) are `fixed`: clients are sent the values of the beginning, and what they return is ignored.
    """

    entries: tuple[Entry, ...]
    fixed: Mapping[str, np.ndarray]
    order: tuple[str, ...]

    @classmethod
    def of(cls, record: ArrayRecord) -> "RecordLayout":
        """The layout of the user's own record."""
        entries: list[Entry] = []
        fixed, start = {}, 0
        for name, array in record.items():
            values = array.numpy()
            if values.dtype.kind == "f":
                stop = start + values.size
                entries.append(Entry(name, values.shape, str(values.dtype), start, stop))
                start = stop
            elif values.dtype.kind in "iub":
                fixed[name] = values
            else:
                raise InputError(f"array {name!r} has dtype {values.dtype}: only numbers can be averaged")
        if not start:
            raise InputError("initial_arrays: holds no floating point values, so there is nothing to train")
        return cls(tuple(entries), fixed, tuple(record))

    @property
    def size(self) -> int:
        """How many numbers the vector holds."""
        return self.entries[-1].stop

    @property
    def layers(self) -> tuple[tuple[int, int], ...]:
        """First and last number of each layer: `a.weight` and `a.bias` are one, all other arrays each one."""
        spans: dict[str, list[int]] = {}
        for entry in self.entries:
            stem, dot, last = entry.name.rpartition(".")
            name = stem if dot and last not in _STATISTICS else entry.name
            spans.setdefault(name, []).extend((entry.start, entry.stop))
        return tuple((min(ends), max(ends)) for ends in spans.values())

    @property
    def learned(self) -> tuple[tuple[int, int], ...]:
        """Where the numbers lie that training moves, as spans; () if all of them are."""
        parts = ((entry.stop - entry.start, entry.name.rpartition(".")[2]) for entry in self.entries)
        return joined_spans((length, last not in _STATISTICS) for length, last in parts)

    @property
    def most_bytes(self) -> int:
        """What a record of this layout takes at most, however wide its numbers are."""
        return 16 * self.size + sum(16 * array.size for array in self.fixed.values())

    def vector(self, record: Mapping[str, Array]) -> Vector:
        """The record's learned arrays, one after the other; InputError says what does not fit."""
        flat = np.empty(self.size, dtype=np.float32)
        for entry in self.entries:
            if entry.name not in record:
                raise InputError(f"array {entry.name!r} is missing")
            flat[entry.start : entry.stop] = read_array(record[entry.name], entry.shape, entry.name).ravel()
        return flat

    def record(self, vector: Vector) -> ArrayRecord:
        """The vector in the form the user's ClientApp knows."""
        learned = {
            e.name: vector[e.start : e.stop].reshape(e.shape).astype(e.dtype, copy=False)
            for e in self.entries
        }
        arrays = {
            # Not `ascontiguousarray`, which makes a number without dimensions an array of one.
            name: Array(np.asarray(learned[name] if name in learned else self.fixed[name], order="C"))
            for name in self.order
        }
        return ArrayRecord(arrays)


def as_score(value: object, scoring: Scoring = ACCURACY) -> float:
    """A client's score, NaN if it has none; InputError if it cannot be one."""
    if value is None:
        return math.nan
    score = float(value)  # type: ignore[arg-type]
    fault = scoring.fault(score)
    if fault:
        raise InputError(fault)
    return score


def read_report(record: Mapping[str, Array], report: Report) -> dict[str, np.ndarray]:
    """What a client tells besides its model, if it has the names and shapes that were agreed."""
    if set(record) != set(report.shapes):
        raise InputError(report.fault(record) or "")
    return {
        name: read_array(record[name], shape, f"report {name}", np.float64, kinds="fiub")
        for name, shape in report.shapes.items()
    }


def read_array(
    array: Array, shape: tuple[int, ...], name: str, dtype: type[np.floating] = np.float32, kinds: str = "f"
) -> np.ndarray:
    """A client's array in this dtype, if it is what it claims to be: numbers of these kinds (of dtypes).

    The header is read first and nothing larger than the expected shape is ever allocated.
    """
    if array.stype != _NUMPY:
        raise InputError(f"array {name!r} is serialised as {array.stype[:40]!r}, not as {_NUMPY}")
    count = math.prod(shape)
    if len(array.data) > count * 16 + _HEADER:
        raise InputError(f"array {name!r} takes {len(array.data)} bytes, too many for shape {shape}")
    stream = io.BytesIO(array.data)
    try:
        version = np.lib.format.read_magic(stream)
        reader = (
            np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        )
        found, fortran, written = reader(stream)
    except Exception as error:
        raise InputError(f"array {name!r} is not a NumPy array") from error
    if found != shape:
        raise InputError(f"array {name!r} has shape {str(found)[:60]}, not {shape}")
    if written.kind not in kinds or written.itemsize > 16:
        wanted = "floating point numbers" if kinds == "f" else "numbers"
        raise InputError(f"array {name!r} has dtype {str(written)[:40]}, not {wanted}")
    body = array.data[stream.tell() :]
    if len(body) != count * written.itemsize:
        raise InputError(f"array {name!r} is cut off or too long: {len(body)} bytes for {count} numbers")
    values = np.frombuffer(body, dtype=written).reshape(shape, order="F" if fortran else "C")
    # What does not fit becomes infinite, which the gate refuses.
    with np.errstate(over="ignore", invalid="ignore"):
        return values.astype(dtype)
