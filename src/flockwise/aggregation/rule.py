"""What a rule is: a function of updates with its contract, and the same with options, ready for a flock.

    median(updates)                  # the array function: one vector
    median(attackers=3)              # the rule for a strategy: `flic(rule=median(attackers=3))`

A rule names what it wants of the run as parameters: `weights` (sample counts), `f` (attackers among these updates),
`root` (the server's own update), `clients` (whose updates these are), `seed`, and `memory`, what it returned last
time. A rule with a memory returns (vector, memory); the memory is saved and resumed with the rest of the state. A step
before a rule is given the same but for `root`, and may have a memory, too.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, overload

import numpy as np

from flockwise.errors import ConfigError, PluginError
from flockwise.kernels.stored import Matrix
from flockwise.plugins import find, running
from flockwise.registry import Piece, Registry, config_name, first_parameters
from flockwise.types import Labels, Vector, Weights

GIVEN = frozenset({"weights", "f", "root", "seed", "start", "clients", "memory"})
Memory = Mapping[str, np.ndarray]


def one_client(f: int = 0, **options: Any) -> int:
    """Rules that take any number of updates."""
    return 1


def majority(f: int = 0, **options: Any) -> int:
    """Rules that stand fewer than half."""
    return 2 * f + 1


def all_of_them(count: int, **options: Any) -> int:
    """Pre-aggregations that give back as many updates as they got."""
    return count


@dataclass(frozen=True, eq=False, repr=False)
class RulePiece(Piece):
    """A rule by its name: what it needs, which attackers it stands, what it costs (K clients, d numbers).

    `minimum(f, **options)` is the least number of clients that the rule takes, or with which it stands f
    attackers; a config that samples fewer cannot keep its promise. `leaves(count, **options)` is how many
    updates a pre-aggregation makes of `count`. `example` are options to try it with, for the tests that every rule
    passes. What these tests hold a rule to, it says itself: `translates` and `scales`, whether moving or scaling all
    updates does so to the result; `within`, that no number of the result leaves the range of the updates' and zero;
    `bounded`, that one client alone cannot pull the result as far as it likes; `exact_order`, that another order of
    clients gives the same bits and not only the same up to rounding; `mean_with`, options with which it is the mean;
    `in_blocks`, that it reads updates that lie on disk (`kernels/stored.py`) a block at a time, and not all at once.
    """

    needs: str = "K >= 1"
    tolerates: str = "not said"
    cost: str = "not said"
    weighted: bool = False  # by sample counts unless told otherwise; a robust rule never trusts them
    minimum: Callable[..., int] = one_client
    leaves: Callable[..., int] = all_of_them
    example: Mapping[str, Any] = field(default_factory=dict)
    translates: bool = True
    scales: bool = True
    within: bool = True
    bounded: bool = False
    exact_order: bool = False
    mean_with: Mapping[str, Any] | None = None
    in_blocks: bool = False

    @cached_property
    def wants(self) -> frozenset[str]:
        """What of the run the function asks for."""
        return GIVEN & set(inspect.signature(self.function).parameters)

    @overload
    def __call__(self, updates: Any, /, *more: Any, **options: Any) -> Vector: ...

    @overload
    def __call__(
        self, *, attackers: float = 0.0, before: "Sequence[str | RulePiece]" = (), **options: Any
    ) -> "Rule": ...

    def __call__(self, *updates: Any, **options: Any) -> Any:
        """The joint update of these updates; without updates, the rule with these options, for a strategy."""
        if updates or "updates" in options:
            return self.function(*updates, **options)
        attackers, before = options.pop("attackers", 0.0), options.pop("before", ())
        return Rule(self, self.resolved(options, "aggregation."), attackers, tuple(map(step_before, before)))


RULES: Registry[RulePiece] = Registry("flockwise.aggregation")
PRE_AGGREGATIONS: Registry[RulePiece] = Registry("flockwise.aggregation")


def rule(summary: str, **contract: Any) -> Callable[[Callable[..., Any]], RulePiece]:
    """Makes a function an aggregation rule; `contract` are fields of RulePiece."""
    return lambda function: RULES.add(
        as_rule(function, **{"weighted": False, "summary": summary, **contract})
    )


def pre_aggregation(summary: str, **contract: Any) -> Callable[[Callable[..., Any]], RulePiece]:
    """Makes a function from updates to updates one that can go before a rule."""
    return lambda function: PRE_AGGREGATIONS.add(as_rule(function, summary=summary, **contract))


def as_rule(function: Callable[..., Any], name: str | None = None, **contract: Any) -> RulePiece:
    """A rule made of any function of updates; one that asks for weights is weighted."""
    if isinstance(function, RulePiece):
        return function
    given = GIVEN | first_parameters(function, 1)
    contract.setdefault("weighted", "weights" in inspect.signature(function).parameters)
    contract.setdefault("summary", (function.__doc__ or "a rule of your own").strip().splitlines()[0])
    return RulePiece(name=name or config_name(function), function=function, given=given, **contract)


@dataclass(frozen=True)
class Rule:
    """A rule with its options, ready to be given one flock's updates.

    `attackers` is how many of ALL clients are expected to lie (a count, or a share below 1); a rule that wants to know
    gets its share for the flock at hand, rounded down (Mini-FL: m = n_group / N * M). A flock with fewer replies
    than the rule needs is aggregated by the median of each coordinate (of two, that is the mean) rather than not at all.
    """

    piece: RulePiece
    options: Mapping[str, Any] = field(default_factory=dict)
    attackers: float = 0.0
    before: "tuple[Rule, ...]" = ()
    strict: bool = False  # what a rule with a `strict` option does where the option is not set

    def __post_init__(self) -> None:
        mixed = ""
        for step in self.before:
            if mixed and "clients" in step.piece.wants:
                raise ConfigError(
                    f"aggregation.before: {step.name} needs each client's update, and {mixed} mixes them; put it first"
                )
            mixed = mixed or (step.name if step.piece.leaves is not all_of_them else "")

    @property
    def wants(self) -> frozenset[str]:
        """What of the run the rule or a step before it asks for."""
        return self.piece.wants.union(*(step.piece.wants for step in self.before))

    @property
    def name(self) -> str:
        """Its name in configs."""
        return self.piece.name

    def __repr__(self) -> str:
        told = {"attackers": self.attackers, "before": self.before, **self.options}
        defaults = {"attackers": 0.0, "before": (), **self.piece.defaults}
        said = ", ".join(f"{name}={value!r}" for name, value in told.items() if value != defaults.get(name))
        return f"{self.name.replace('-', '_')}({said})"

    @property
    def whole(self) -> str:
        """Why all updates must be in memory at once; "" if a block at a time will do."""
        first = (*self.before, self)[0]
        place = "aggregation.name" if first is self else "aggregation.before"
        return "" if first.piece.in_blocks else f"{place} = {first.name!r} needs all of them at once"

    def strictly(self) -> "Rule":
        """The same, refusing too few clients where it would otherwise go without its guarantee."""
        return replace(self, strict=True)

    def unweighted(self) -> "Rule":
        """The same, where every client counts alike."""
        return replace(self, piece=replace(self.piece, weighted=False))

    def section(self) -> dict[str, Any]:
        """The rule as a config has it."""
        before = [{"name": step.name, **step.options} for step in self.before]
        return {"name": self.name, "attackers": self.attackers, "before": before, **dict(self.options)}

    def __call__(
        self, updates: Matrix, weights: Weights, everyone: int, *, round: int = 0, seed: int = 0,
        root: Vector | None = None, clients: Labels | None = None, memory: Memory | None = None,
    ) -> tuple[Vector, Memory]:  # fmt: skip
        """A flock's joint update, and what the rule remembers; `everyone` is the number of all clients."""
        from flockwise.aggregation.coordinatewise import median

        expected = self.attackers * len(updates) / (1 if self.attackers < 1 else everyone)
        share = int(expected + 1e-9)
        memory, kept = memory or {}, dict[str, np.ndarray]()
        offers = {"f": share, "seed": seed + round, "clients": clients}
        for place, step in enumerate(self.before):
            mine = f"before{place}."
            found = step.piece.function(updates, **step._arguments({**offers, "memory": _of(mine, memory)}))
            if "memory" in step.piece.wants:
                found, held = found
                kept |= {mine + name: array for name, array in held.items()}
            updates = np.asarray(found)
        own = {name: array for name, array in memory.items() if name not in kept}
        arguments = self._arguments({**offers, "root": root, "memory": own})
        if self.piece.weighted and len(weights) == len(updates):
            arguments["weights"] = weights
        if len(updates) < self.piece.minimum(share, **{**self.options, **_strict_of(arguments)}):
            return median(updates), {**memory, **kept}
        with running(f"aggregation.name = {self.name!r}"):
            found = self.piece.function(updates, **arguments)
            joint, held = found if "memory" in self.piece.wants else (found, {})
            joint = np.asarray(joint, dtype=np.float32)
        return self._checked(joint, updates), {**kept, **held}

    def _arguments(self, offers: Mapping[str, Any]) -> dict[str, Any]:
        """The options, and of what the run offers that which the function asks for."""
        arguments = {
            **self.options,
            **{key: value for key, value in offers.items() if key in self.piece.wants},
        }
        if arguments.get("strict", self) is None:
            arguments["strict"] = self.strict
        return arguments

    def _checked(self, joint: Vector, updates: Matrix) -> Vector:
        """Whatever rule it is: a model must not be ruined by what it returns."""
        if joint.shape != updates.shape[1:]:
            raise PluginError(
                f"aggregation.name = {self.name!r}: returned shape {joint.shape}, must be {updates.shape[1:]}"
            )
        if not np.isfinite(joint).all():
            raise PluginError(f"aggregation.name = {self.name!r}: returned NaN or infinite values")
        return joint


def _of(step: str, memory: Memory) -> dict[str, np.ndarray]:
    """What a step before the rule remembers, by its own names."""
    return {name.removeprefix(step): array for name, array in memory.items() if name.startswith(step)}


def _strict_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {"strict": arguments["strict"]} if "strict" in arguments else {}


def step_before(step: "str | Mapping[str, Any] | RulePiece | Rule", directory: Any = None) -> Rule:
    """A pre-aggregation from its name, from its section of a config, or from Python."""
    if isinstance(step, Rule):
        return step
    if isinstance(step, RulePiece):
        return step()
    options = {"name": step} if isinstance(step, str) else dict(step)
    name = options.pop("name")
    piece = as_rule(find("pre-aggregations", name, PRE_AGGREGATIONS, directory), name)
    return Rule(piece, piece.resolved(options, "aggregation.before."))


def rule_from(section: Mapping[str, Any], directory: Any = None) -> Rule:
    """The rule of a config's `[aggregation]`."""
    options = dict(section)
    name, attackers, before = options.pop("name"), options.pop("attackers", 0.0), options.pop("before", ())
    piece = as_rule(find("aggregators", name, RULES, directory), name)
    steps = tuple(step_before(step, directory) for step in before)
    beside = ("name", "attackers", "before")
    return Rule(piece, piece.resolved(options, "aggregation.", beside=beside), attackers, steps)


def as_bound(rule: Rule | RulePiece | Callable[..., Any]) -> Rule:
    """A rule with its options, from whatever a user calls a rule."""
    if isinstance(rule, Rule):
        return rule
    if not callable(rule):
        raise ConfigError(f"rule = {rule!r}: must be a rule, such as fw.median()")
    piece = as_rule(rule)
    return Rule(piece, piece.resolved({}, "aggregation."))
