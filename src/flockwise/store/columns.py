"""From rows of a database, which takes anything in any column, to values of the types that belong there."""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from flockwise.store.compact import is_compact, unpacked
from flockwise.store.json_text import loaded
from flockwise.store.looking import NotOurs, Row
from flockwise.store.schema import CLIENT_COLUMNS

MOST_CELLS = 50_000_000  # rounds times names of facts
MOST_DETAIL = 32 << 20  # characters of all events' details; they take many times that as objects

_DTYPE = re.compile(r"[<>|](b1|[iu][1248]|f[248])")
_WORDS = ("name", "address")
_COUNTS = ("attacker", "train", "validation", "test")


def number(value: object) -> float:
    """A number, or NaN."""
    return float(value) if isinstance(value, float | int) else float("nan")


def fact_columns(place: Mapping[int, int], rows: Iterable[Row]) -> dict[str, np.ndarray]:
    """One column for each name, with a value for each round that has a place."""
    found: dict[str, np.ndarray] = {}
    for round, name, value in rows:
        if not isinstance(name, str) or round not in place:
            continue
        if name not in found:
            if (len(found) + 1) * len(place) > MOST_CELLS or len(found) >= 10_000:
                raise NotOurs(f"facts of more than {len(found):,} names")
            found[name] = np.full(len(place), np.nan)
        found[name][place[round]] = number(value)
    return dict(sorted(found.items()))


def all_honest(facts: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """`accuracy` over every honest client, and `accuracy_taking_part` in every round if it is on record in any.

    Up to 0.2 `accuracy` left out honest clients that were set apart, and `accuracy_honest` counted them too.
    """
    if "accuracy_honest" in facts:
        everyone, part = facts.pop("accuracy_honest"), facts.get("accuracy")
        if part is not None:
            facts["accuracy_taking_part"] = part
            everyone = np.where(np.isfinite(everyone), everyone, part)
        facts["accuracy"] = everyone
    elif "accuracy_taking_part" in facts and "accuracy" in facts:
        some = facts["accuracy_taking_part"]
        facts["accuracy_taking_part"] = np.where(np.isfinite(some), some, facts["accuracy"])
    return facts


def client_of(row: Row) -> dict[str, Any]:
    """A client's record; what is of another type than it should be is not there."""
    client = dict(zip(CLIENT_COLUMNS, row, strict=True))
    for key, value in client.items():
        if key in _WORDS:
            client[key] = value if value is None else str(value)
        elif not isinstance(value, (int, float) if key == "hour" else int):
            client[key] = 0 if key in _COUNTS else None
    client["name"] = client["name"] or ""
    return client


def events_of(rows: Iterable[Row]) -> Iterator[tuple[str, str, int | None, dict[str, Any], int]]:
    """Kind, message, client, detail and round of each event that belongs to a round."""
    left = MOST_DETAIL
    for round, kind, client, message, detail in rows:
        if isinstance(round, int):
            left -= len(detail) if isinstance(detail, str) else 0
            known = client if isinstance(client, int) else None
            yield str(kind), str(message), known, _detail(detail) if left > 0 else {}, round


def _detail(text: object) -> dict[str, Any]:
    try:
        found = loaded(text) if isinstance(text, str) else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def decoded(
    dtype: object, shape: object, data: object, base: Callable[[int], np.ndarray] | None = None
) -> np.ndarray:
    """An array from what was kept of it, and of the round it is based on; a ValueError says what cannot be."""
    if isinstance(dtype, str) and is_compact(dtype):
        return unpacked(dtype, shape, data, base or _baseless)
    if not isinstance(dtype, str) or not _DTYPE.fullmatch(dtype):
        raise ValueError(f"its dtype is {str(dtype)[:20]!r}")
    if not isinstance(data, bytes) or not isinstance(shape, str) or len(shape) > 200:
        raise ValueError("it is not the bytes of an array and their shape")
    sizes = json.loads(shape)
    if (
        not isinstance(sizes, list)
        or not all(type(size) is int and size >= 0 for size in sizes)
        or len(sizes) > 8
    ):
        raise ValueError(f"its shape is {shape[:40]!r}")
    kind = np.dtype(dtype)
    if math.prod(sizes) * kind.itemsize != len(data):
        raise ValueError(f"{len(data):,} bytes are not an array of shape {sizes}")
    return np.frombuffer(data, dtype=kind).reshape(sizes)


def _baseless(round: int) -> np.ndarray:
    raise ValueError(f"round {round}, which it is based on, is based on another")
