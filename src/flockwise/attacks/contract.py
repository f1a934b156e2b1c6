"""What an attack is, what it is allowed to see, and how it gets its name.

An attack by name is a function of its options that returns an UpdateAttack or a DataAttack, under `@attack`. Called
as `reverse(clients=8, first_round=5, scale=2.0)` it also says who attacks and from when on.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypeVar, cast

import numpy as np

from flockwise.errors import PluginError
from flockwise.options import Count, Natural, NonNegative, plain, readable_signature, resolved
from flockwise.registry import NO_OPTIONS, Piece, Registry, config_name
from flockwise.types import Labels, Updates

Who = int | float | Sequence[int]  # how many clients, which share (below 1), or exactly which


class View(NamedTuple):
    """What the attackers of one round know; what their attack does not claim to know is None."""

    own: Updates  # (attackers, parameters) the honest updates they would have sent; zeros without "own"
    others: Updates | None = None  # (honest clients, parameters) of this round
    rule: str | None = None  # the server's aggregation
    rule_parameters: Mapping[str, Any] | None = None
    groups: Labels | None = None  # the server's flocks: of the own rows, then of the others'


@dataclass(frozen=True, eq=False, kw_only=True)
class Attack:
    """Who attacks, from when on, and by which name and options a config says so."""

    name: str = ""
    summary: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    clients: Who = 0
    first_round: int = 1  # honest before it

    def section(self) -> dict[str, Any]:
        """The attack as a config has it."""
        return {"name": self.name, "clients": self.clients, "first_round": self.first_round, **self.options}


@dataclass(frozen=True, eq=False)
class UpdateAttack(Attack):
    """An attack on what clients send; all attackers of a round act together."""

    craft: Callable[[View, np.random.Generator], Updates]  # the rows they send instead, float32
    knows: frozenset[str]  # of "own", "all", "rule", "groups"; attackers that know nothing need not train


@dataclass(frozen=True, eq=False)
class DataAttack(Attack):
    """An attack on a client's training data; it then trains honestly on it."""

    # samples (n, height, width, channels) in [0, 1], labels, number of classes -> new samples and labels
    poison: Callable[[np.ndarray, np.ndarray, int, np.random.Generator], tuple[np.ndarray, np.ndarray]]
    relabels: bool = False  # gives samples other classes: only for tasks that have one a sample


A = TypeVar("A", bound=Attack)


def attackers(
    clients: Annotated[
        Natural | NonNegative | Sequence[Natural], "how many, which share (below 1), or exactly which"
    ] = 0,
    first_round: Annotated[Count, "honest before this round"] = 1,
) -> None:
    """The options that every attack has beside its own."""


@dataclass(frozen=True, eq=False, repr=False)
class AttackPiece(Piece, Generic[A]):
    """An attack that can be named in a config: calling it with its options gives the attack."""

    kind: Literal["update", "data"] = "update"

    def __post_init__(self) -> None:
        super().__post_init__()
        own = readable_signature(self.function)
        added = readable_signature(attackers).parameters.values()
        shared = [parameter.replace(kind=parameter.KEYWORD_ONLY) for parameter in added]
        vars(self)["__signature__"] = own.replace(parameters=[*own.parameters.values(), *shared])

    def __call__(self, *arguments: Any, clients: Who = 0, first_round: int = 1, **options: Any) -> A:
        """The attack by these clients from this round on; positional arguments are its own options, in order."""
        given = inspect.signature(self.function).bind_partial(*arguments).arguments | options
        checked = self.resolved({name: plain(value) for name, value in given.items()}, "attack.")
        made = self.function(**checked)
        if not isinstance(made, Attack):
            raise PluginError(
                f"{self.name} made a {type(made).__name__}: must be an UpdateAttack or DataAttack"
            )
        who = resolved(
            attackers, {"clients": plain(clients), "first_round": plain(first_round)}, prefix="attack."
        )
        return cast(A, replace(made, name=self.name, summary=self.summary, options=checked, **who))


ATTACKS: Registry[AttackPiece[Any]] = Registry("flockwise.attacks")


def attack(
    summary: str,
    *,
    kind: Literal["update", "data"],
    paper: str = "",
    example: Mapping[str, Any] | None = NO_OPTIONS,
) -> Callable[[Callable[..., A]], AttackPiece[A]]:
    """Makes a function of the attack's options an attack by name; `example` are options for its tests."""

    def named(function: Callable[..., A]) -> AttackPiece[A]:
        piece: AttackPiece[A] = AttackPiece(
            config_name(function), summary, function, paper=paper, example=example, kind=kind
        )
        return ATTACKS.add(piece)

    return named
