"""What an attack is, and what it is allowed to see."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from flockwise.types import Labels, Updates


class View(NamedTuple):
    """What the attackers of one round know; what their attack does not claim to know is None."""

    own: Updates  # (attackers, parameters) the honest updates they would have sent; zeros without "own"
    others: Updates | None = None  # (honest clients, parameters) of this round
    rule: str | None = None  # the server's aggregation
    rule_parameters: Mapping[str, Any] | None = None
    groups: Labels | None = None  # the server's flocks: of the own rows, then of the others'


@dataclass(frozen=True)
class UpdateAttack:
    """An attack on what clients send; all attackers of a round act together."""

    name: str
    summary: str
    knows: frozenset[str]  # of "own", "all", "rule", "groups"; attackers that know nothing need not train
    craft: Callable[[View, np.random.Generator], Updates]  # the rows they send instead, float32


@dataclass(frozen=True)
class DataAttack:
    """An attack on a client's training data; it then trains honestly on it."""

    name: str
    summary: str
    # samples (n, height, width, channels) in [0, 1], labels, number of classes -> new samples and labels
    poison: Callable[
        [np.ndarray, np.ndarray, int, np.random.Generator],
        tuple[np.ndarray, np.ndarray],
    ]


@dataclass(frozen=True)
class AttackEntry:
    """An attack that can be named in a config: call `factory` with its parameters."""

    name: str
    summary: str
    kind: Literal["update", "data"]
    factory: Callable[..., UpdateAttack | DataAttack]
    parameters: Mapping[str, Any]  # defaults
