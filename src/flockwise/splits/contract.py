"""What a split by name is: a function of a data set, how many clients, a seed and options of its own."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Annotated, Any, Generic, ParamSpec

from pydantic import Field

from flockwise.data import Federation
from flockwise.errors import ConfigError, PluginError
from flockwise.notes import AtMostClients
from flockwise.options import Count, Natural, named, plain, shown
from flockwise.plugins import nearest
from flockwise.registry import NO_OPTIONS, Piece, Registry, config_name, first_parameters
from flockwise.splits.typed import typed

GIVEN = frozenset({"seed", "clients", "validation"})  # by a run, beside the data set: all splits take them

Validation = Annotated[float, Field(ge=0, lt=1), "share of a client's training samples set aside"]
Samples = Annotated[Count | None, "training samples of a client, or their mean; none: all there are"]
Test = Annotated[Natural | None, "test samples of each client; none: all there are"]
Shared = Annotated[
    bool,
    "each client draws from all samples, so that several hold the same one: for more clients than samples",
]
Groups = Annotated[Count, AtMostClients(), "kinds of clients"]

P = ParamSpec("P")


@dataclass(frozen=True, eq=False, repr=False)
class SplitPiece(Piece, Generic[P]):
    """A way to deal a data set out to clients that can be named in a config."""

    def __call__(self, *arguments: P.args, **options: P.kwargs) -> Federation:
        """Deal; a federation of a data set by name remembers how it was made (`Federation.origin`)."""
        signature = inspect.signature(self.function)
        for name, value in options.items():
            if name not in signature.parameters:
                hint = nearest(name, [*signature.parameters])
                raise ConfigError(f"split.{named(name)} = {shown(value)}: unknown key; {hint}")
        bound = signature.bind(*arguments, **options)
        federation: Federation = self.function(*bound.args, **bound.kwargs)
        bound.apply_defaults()
        dataset, *rest = bound.arguments.items()
        registered = dataset[1].registered
        if registered is None:
            return federation
        recipe = {"name": self.name, **{name: plain(value) for name, value in rest}}
        return federation.made_by({"data": {"name": registered}, "split": recipe})


SPLITS: Registry[SplitPiece[...]] = Registry("flockwise.splits")


def split(
    summary: str, *, paper: str = "", example: Mapping[str, Any] | None = NO_OPTIONS
) -> Callable[[Callable[P, Federation]], SplitPiece[P]]:
    """Makes a function a split by name; its arguments' types are checked before it starts.

    `example` are options for its tests on the embedded digits; None: they do not suit it.
    """

    def named(function: Callable[P, Federation]) -> SplitPiece[P]:
        piece: SplitPiece[P] = SplitPiece(
            config_name(function).replace("-", "_"),
            summary,
            typed(function),
            GIVEN | first_parameters(function, 1),
            paper=paper,
            example=example,
        )
        SPLITS.add(piece)
        return piece

    return named


def find_split(name: str) -> SplitPiece[...]:
    """The split of this name; hyphens count as underscores."""
    known = name.replace("-", "_")
    if known not in SPLITS:
        near = get_close_matches(known, SPLITS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(SPLITS)}"
        raise PluginError(f"split = {name!r}: no such split; {hint}")
    return SPLITS[known]
