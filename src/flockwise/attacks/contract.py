"""What an attack is, what it is allowed to see, and how it gets its name.

An attack by name is a function of its options that returns an UpdateAttack or a DataAttack, under `@attack`. Called
as `reverse(clients=8, first_round=5, scale=2.0)` it also says who attacks and from when on.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Generic, Literal, NamedTuple, Protocol, TypeVar, cast

import numpy as np

from flockwise.errors import PluginError
from flockwise.options import Count, Natural, NonNegative, plain, readable_signature, resolved
from flockwise.registry import NO_OPTIONS, Piece, Registry, config_name
from flockwise.scoring import Scoring
from flockwise.types import Labels, Updates, Vector

Who = int | float | Sequence[int]  # how many clients, which share (below 1), or exactly which


class Rehearsal(NamedTuple):
    """What a copy of the server made of a round, before it asked clients anything."""

    own: Labels  # the flocks of the attackers after it
    others: Labels  # and of the honest
    steps: (
        Updates  # (honest clients, parameters) how each one's model has moved, from the one that it trained
    )


class View(NamedTuple):
    """What the attackers of one round know; what their attack does not claim to know is None."""

    own: Updates  # (attackers, parameters) the honest updates they would have sent; zeros without "own"
    others: Updates | None = None  # (honest clients, parameters) of this round
    rule: str | None = None  # the server's aggregation
    rule_parameters: Mapping[str, Any] | None = None
    groups: Labels | None = None  # the server's flocks: of the own rows, then of the others'
    found: bool | None = None  # whether the server has looked for flocks yet; with "groups"
    # What the server's rule makes of a flock's updates, as far as attackers can simulate it; with "rule"
    simulate: Callable[[Updates], Vector] | None = None
    # (attackers, parameters) the mean direction of what each has sent of late; None: the server does not look; with "course"
    course: Updates | None = None
    # What the server as it stands would make of the round if attackers sent these rows; with "defence"
    rehearse: Callable[[Updates], Rehearsal] | None = None


class Asked(NamedTuple):
    """A question about models that one attacker is asked: how good they are on its validation data."""

    honest: tuple[float, ...]  # what it would say of each
    own: int | None  # which of them is its flock's; none, for one without a flock
    scoring: Scoring  # what a score is


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


Craft = Callable[[View, np.random.Generator], Updates]  # the rows attackers send instead, float32
Answer = Callable[[Asked], Sequence[float]]  # what an attacker says instead
# samples (n, height, width, channels) in [0, 1], labels, number of classes -> new samples and labels
Poison = Callable[[np.ndarray, np.ndarray, int, np.random.Generator], tuple[np.ndarray, np.ndarray]]


class SeenModel(Protocol):
    """A model that attackers hold, and can look into; samples and labels as a `Poison` has them."""

    def gradients(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, Sequence[np.ndarray]]:
        """Those of the mean loss: by each number of the samples, and by each tensor of weights."""

    def trained(self, x: np.ndarray, y: np.ndarray, epochs: int) -> tuple["SeenModel", Sequence[np.ndarray]]:
        """A copy after so many epochs on these samples, and its gradients by weights in the last step."""


@dataclass(frozen=True)
class Goal:
    """What a backdoor is for: samples that carry the trigger are to get the target's label."""

    target: int
    trigger: Callable[[np.ndarray], np.ndarray]  # samples -> the same with the trigger
    source: int | None = None  # only samples of this class are to be fooled; none: of every other class

    def shown(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The samples that count, with the trigger; those of the target class prove nothing."""
        counted = y == self.source if self.source is not None else y != self.target
        return self.trigger(x[counted]) if counted.any() else x[:0]


Through = Callable[
    [SeenModel, np.ndarray, np.ndarray, int, np.random.Generator], tuple[Poison, Goal]
]  # the model; samples, labels and classes as in Poison


@dataclass(frozen=True, eq=False)
class UpdateAttack(Attack):
    """An attack on what clients send; all attackers of a round act together."""

    craft: Craft
    knows: frozenset[
        str
    ]  # of "own", "all", "rule", "groups", "course", "defence"; who knows nothing need not train
    answer: Answer | None = None  # to questions about models; none: honest


@dataclass(frozen=True, eq=False)
class DataAttack(Attack):
    """An attack on a client's training data; it then trains honestly on it, and may change what it sends of that.

    A backdoor has a `goal`, from which a run's `attack_success` is measured on honest clients' test data. `part` makes
    the poison of the n-th attacker, where they differ; `through` makes poison and goal anew from each model that an attacker
    is sent, or that is tested, and the data of all attackers.
    """

    poison: Poison
    goal: Goal | None = None
    craft: Craft | None = None  # its view's own updates are those trained on poisoned data
    knows: frozenset[str] = frozenset({"own"})
    part: Callable[[int], Poison] | None = None
    through: Through | None = None
    relabels: bool = False  # gives samples other classes: only for tasks that have one a sample

    def of(self, attacker: int) -> "DataAttack":
        """The attack of the n-th attacker."""
        return self if self.part is None else replace(self, poison=self.part(attacker))


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
