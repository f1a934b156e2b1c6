"""What a schedule is: a function from the turn (a round, or a step inside one) to a factor of the learning rate.

    exponential(factor=0.99)                 # for a recipe: `SGD(learning_rate=0.1, schedule=exponential(0.99))`
    [warmup(over=5), cosine()]               # several at once: their factors are multiplied

The factor depends on the number of the turn alone, so that a run that is resumed, or trained elsewhere, has the same
rates without anybody remembering them.
"""

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from flockwise.errors import InputError, PluginError
from flockwise.options import plain
from flockwise.plugins import find
from flockwise.registry import NO_OPTIONS, OWN, Piece, Registry, config_name

GIVEN = frozenset({"turn", "turns"})


@dataclass(frozen=True, eq=False, repr=False)
class SchedulePiece(Piece):
    """A schedule by its name; calling it with its options gives the schedule."""

    def __call__(self, *arguments: Any, **options: Any) -> "Schedule":
        """The schedule with these options; positional ones in the order of the signature."""
        own = [name for name in inspect.signature(self.function).parameters if name not in GIVEN]
        if len(arguments) > len(own):
            raise InputError(f"{self.name}: takes {len(own)} options, not {len(arguments)}")
        given = {**dict(zip(own, arguments, strict=False)), **options}
        named = {name: plain(value) for name, value in given.items()}
        return Schedule(self, self.resolved(named, "training.schedule."))


@dataclass(frozen=True)
class Schedule:
    """A schedule with its options."""

    piece: SchedulePiece
    options: Mapping[str, Any]

    def factor(self, turn: int, turns: int | None = None) -> float:
        """What the learning rate is multiplied by in this turn, from 0, of so many (None: nobody knows how many)."""
        known = {"turn": turn, "turns": turns}
        wanted = {name: value for name, value in known.items() if name in self._wants}
        value = self.piece.function(**wanted, **self.options)
        if not isinstance(value, int | float) or not 0 <= value < math.inf:
            raise PluginError(
                f"training.schedule = {self.piece.name!r}: made {value!r:.40}: must be a finite number, 0 or more"
            )
        return float(value)

    def over(self, turns: int) -> "Schedule":
        """The same, with the number of turns written down if it counts and is not said yet."""
        if "over" not in self.options or self.options["over"] is not None:
            return self
        return replace(self, options={**self.options, "over": turns})

    def section(self) -> dict[str, Any]:
        """The schedule as a config has it."""
        return {"name": self.piece.name, **self.options}

    @property
    def _wants(self) -> frozenset[str]:
        return GIVEN & set(inspect.signature(self.piece.function).parameters)


SCHEDULES: Registry[SchedulePiece] = Registry("flockwise.schedules")


def schedule(
    summary: str, *, example: Mapping[str, Any] | None = NO_OPTIONS
) -> Callable[[Callable[..., float]], SchedulePiece]:
    """Makes a function of `turn` (and `turns`, if it asks for it) and options a schedule by name."""
    return lambda function: SCHEDULES.add(_as_piece(function, summary, example))


def _as_piece(
    function: Callable[..., float],
    summary: str = "a schedule of your own",
    example: Mapping[str, Any] | None = NO_OPTIONS,
) -> SchedulePiece:
    if isinstance(function, SchedulePiece):
        return function
    if not callable(function) or "turn" not in inspect.signature(function).parameters:
        raise InputError(f"schedule = {function!r:.60}: must be a function of `turn` and options of its own")
    name = config_name(function)
    if name == OWN:
        raise InputError(
            f"schedule = {function!r:.60}: must be a function at the top of a module, so that a run can find it again"
        )
    return SchedulePiece(name, summary, function, GIVEN, example=example)


def schedules_from(said: Any, directory: Path | None = None) -> tuple[Schedule, ...]:
    """Schedules as they may be said: one or several of a name, a table with a name and options, an object, a function."""
    if said is None:
        return ()
    one = isinstance(said, str | Mapping | Schedule) or callable(said)
    if not one and not isinstance(said, Iterable):
        raise InputError(f"schedule = {said!r:.60}: must be a name, a schedule, or a list of them")
    return tuple(_schedule(each, directory) for each in ([said] if one else said))


def _schedule(said: Any, directory: Path | None) -> Schedule:
    if isinstance(said, Schedule):
        return said
    if isinstance(said, str | Mapping):
        options = {} if isinstance(said, str) else dict(said)
        name = said if isinstance(said, str) else options.pop("name", "")
        found = find("schedules", str(name), SCHEDULES, directory)
        return found if isinstance(found, Schedule) else _as_piece(found)(**options)
    return _as_piece(said)()


def factor_of(schedules: Sequence[Schedule], turn: int, turns: int | None = None) -> float:
    """The factors of several schedules in this turn, multiplied."""
    return math.prod(each.factor(turn, turns) for each in schedules)
