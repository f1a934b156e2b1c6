"""What a rule promises and needs, as data for configs, documentation and tests."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a word"}


@dataclass(frozen=True)
class Parameter:
    """One parameter of a rule besides the updates; `required` ones have no default."""

    name: str
    kind: type[Any]
    summary: str
    default: Any = None
    required: bool = False
    low: float | None = None
    high: float | None = None  # exclusive for floats, inclusive for whole numbers

    def fault(self, value: Any) -> str | None:
        """What a value must be, if it is not; None if it will do."""
        if value == self.default and type(value) is type(self.default):
            return None
        if not (type(value) is self.kind or (self.kind is float and type(value) is int)):
            return f"must be {_KINDS[self.kind]}"
        if self.low is not None and not value >= self.low:
            return f"must be at least {self.low:g}"
        if self.high is not None and not (value < self.high or (self.kind is int and value == self.high)):
            return f"must be {'at most' if self.kind is int else 'below'} {self.high:g}"
        return None


@dataclass(frozen=True)
class Contract:
    """How many clients a rule needs, which attackers it stands, and what it costs (K clients, d numbers)."""

    needs: str
    tolerates: str
    cost: str
    weighted: bool = False  # by sample counts unless told otherwise; a robust rule never trusts them
    needs_root: bool = False
    random: bool = False


def _one_client(f: int = 0, **parameters: Any) -> int:
    return 1


def _all_of_them(count: int, **parameters: Any) -> int:
    return count


@dataclass(frozen=True)
class Rule:
    """A rule by its name, with its function and contract.

    `minimum(f, **parameters)` is the least number of clients that the rule takes, or with which it stands f
    attackers; a config that samples fewer cannot keep its promise. `leaves(count, **parameters)` is how many
    updates a pre-aggregation makes of `count`.
    """

    name: str
    summary: str
    function: Callable[..., NDArray[np.float32]]
    contract: Contract
    parameters: tuple[Parameter, ...] = ()
    minimum: Callable[..., int] = _one_client
    leaves: Callable[..., int] = _all_of_them
