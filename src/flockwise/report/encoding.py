"""Arrays as short text: quantised, packed, base64."""

import base64
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

MISSING = 255
STEPS = 250  # codes 0..250 span the range; 255 means "not measured"


def packed(array: np.ndarray) -> dict[str, Any]:
    """An unsigned array as the page reads it."""
    kind = array.dtype.newbyteorder("<")
    data = np.ascontiguousarray(array, dtype=kind).tobytes()
    return {
        "bytes": array.dtype.itemsize,
        "shape": list(array.shape),
        "data": base64.b64encode(data).decode(),
    }


def quantised(values: np.ndarray, low: float, high: float) -> dict[str, Any]:
    """Values between low and high in steps of 1/250 of the range; what is not finite is missing."""
    wide = np.asarray(values, dtype=np.float64)
    finite = np.isfinite(wide)
    span = high - low if high > low else 1.0
    codes = np.full(wide.shape, MISSING, dtype=np.uint8)
    codes[finite] = np.clip(np.rint((wide[finite] - low) / span * STEPS), 0, STEPS).astype(np.uint8)
    return {**packed(codes), "low": number(low), "high": number(low + span)}


def bits(array: np.ndarray) -> dict[str, Any]:
    """A boolean array (rounds, clients), eight clients to a byte."""
    whole = np.asarray(array, dtype=bool)
    return {**packed(np.packbits(whole, axis=1, bitorder="little")), "shape": list(whole.shape)}


def plain(value: Any) -> Any:
    """Whatever a config or an event holds, as JSON takes it: numbers that are none are null, dates are text."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, str | int | bool) or value is None else str(value)


def whole(value: object) -> int | None:
    """A whole number, or None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def number(value: float | None, digits: int = 5) -> float | int | None:
    """A number as JSON takes it: few digits, and None where there is none."""
    if value is None or not np.isfinite(value):
        return None
    short = float(f"{float(value):.{digits}g}")
    return int(short) if short.is_integer() and abs(short) < 2**53 else short


def numbers(values: Iterable[float], digits: int = 5) -> list[float | int | None]:
    """Many numbers as JSON takes them."""
    return [number(value, digits) for value in values]
