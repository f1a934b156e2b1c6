"""What a rule promises and needs, as data for configs, documentation and tests."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Parameter:
    """One parameter of a rule besides the updates; `required` ones have no default."""

    name: str
    kind: type
    summary: str
    default: Any = None
    required: bool = False
    low: float | None = None
    high: float | None = None  # exclusive for floats, inclusive for whole numbers


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


@dataclass(frozen=True)
class Rule:
    """A rule by its name, with its function and contract.

    `minimum(f, **parameters)` is the least number of clients that the rule takes, or with which it stands f
    attackers; a config that samples fewer cannot keep its promise.
    """

    name: str
    summary: str
    function: Callable[..., NDArray[np.float32]]
    contract: Contract
    parameters: tuple[Parameter, ...] = ()
    minimum: Callable[..., int] = _one_client
