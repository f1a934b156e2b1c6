"""A battery for each registered piece."""

from collections.abc import Mapping
from typing import Any, TypeVar

B = TypeVar("B")


def one_each(battery: type[B], cases: Mapping[str, Mapping[str, Any]]) -> list[type[B]]:
    """A subclass of the battery for each name, with these class attributes."""
    return [
        type(f"{battery.__name__}_{name.replace('-', '_')}", (battery,), dict(given))
        for name, given in cases.items()
    ]
