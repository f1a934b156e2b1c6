"""All options of a clusterer that another option names, so that a run's config holds them."""

import inspect
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from flockwise.clustering import CLUSTERERS, ClustererPiece
from flockwise.notes import Around
from flockwise.options import options_of, resolved
from flockwise.plugins import find
from flockwise.registry import first_parameters, sayable
from flockwise.stages.grouping import SplitInTwo

_ELSEWHERE = frozenset(
    {"measure", "power", "beyond_noise"}
)  # of a bipartition: what the strategy itself says


def in_full(options: Mapping[str, Any], around: Around) -> dict[str, Any]:
    """All options of the clusterer that is named beside them."""
    chosen = around.options.get("clustering")
    if isinstance(chosen, str) and chosen != "bipartition":
        chosen = find("clusterers", chosen, CLUSTERERS, around.directory)
    return clusterer_options(chosen, options, f"{around.name}.")


def by_name() -> dict[str, type[BaseModel]]:
    """The options of every clusterer by name."""
    return {name: piece.options for name, piece in CLUSTERERS.items()} | {
        "bipartition": options_of(SplitInTwo, _ELSEWHERE)
    }


def clusterer_options(chosen: Any, options: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """All options of a clusterer; a seed that nobody set is the run's, and what no config could say stays unsaid."""
    if chosen == "bipartition":
        return resolved(SplitInTwo, options, _ELSEWHERE, prefix)
    if isinstance(chosen, ClustererPiece):
        found = chosen.resolved(options, prefix)
    elif isinstance(chosen, type) or inspect.isfunction(chosen):
        found = _of_own(chosen, options, prefix)
    else:  # an estimator that has its options already
        found = dict(options)
    left_out = {"seed"} - options.keys()
    return {
        name: value
        for name, value in found.items()
        if name in options or (sayable(value) and name not in left_out)
    }


def _of_own(chosen: Any, options: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """The same of a class, or a function of a matrix, that is not ours."""
    try:
        given = first_parameters(chosen, 0 if isinstance(chosen, type) else 1)
    except ValueError:  # written in C, without a signature
        return dict(options)
    return resolved(chosen, options, given, prefix)
