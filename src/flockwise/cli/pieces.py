"""The pieces of each kind by name: a line and the parameters of each."""

import json
from collections.abc import Mapping
from importlib import import_module
from typing import Any

# where the pieces of a kind are, imported when that kind is asked for
KINDS = {
    "strategies": "flockwise.strategies:STRATEGIES",
    "aggregators": "flockwise.aggregation:RULES",
    "pre-aggregations": "flockwise.aggregation:PRE_AGGREGATIONS",
    "attacks": "flockwise.attacks:ATTACKS",
    "splits": "flockwise.splits:SPLITS",
    "datasets": "flockwise.data:NAMED_DATA",
    "models": "flockwise.models:MODELS",
    "tasks": "flockwise.tasks:TASKS",
    "schedules": "flockwise.schedules:SCHEDULES",
    "similarities": "flockwise.similarity:SIMILARITIES",
    "clusterers": "flockwise.clustering:CLUSTERERS",
}


def summaries(kind: str) -> dict[str, str]:
    """Name and one line of each built-in piece."""
    return {name: str(piece.summary) for name, piece in pieces_of(kind).items()}


def parameters(kind: str) -> dict[str, str]:
    """Name and parameters of each built-in piece that takes some, as a config may give them."""
    told = {
        name: ", ".join(_told(*item) for item in getattr(piece, "defaults", {}).items())
        for name, piece in pieces_of(kind).items()
    }
    return {name: line for name, line in told.items() if line}


def pieces_of(kind: str) -> Mapping[str, Any]:
    """The built-in pieces of a kind by name."""
    module, _, attribute = KINDS[kind].partition(":")
    pieces: Mapping[str, Any] = getattr(import_module(module), attribute)
    return pieces


def _told(name: str, default: Any) -> str:
    from flockwise.options import written

    if default is ...:
        return f"{name} (needed)"
    return name if default is None else f"{name} = {json.dumps(written(default), default=str)}"


def plugged_in(kind: str) -> dict[str, str]:
    """Name and origin of each piece that an installed plug-in adds."""
    from importlib.metadata import entry_points

    return {point.name: f"plug-in: {point.value}" for point in entry_points(group=f"flockwise.{kind}")}


def known_name(kind: str, name: str) -> str:
    """The name a built-in piece goes by, with - or _ as it is registered; any other name as it is."""
    same = (known for known in pieces_of(kind) if known.replace("_", "-") == name.replace("_", "-"))
    return next(same, name)


def find_piece(kind: str, name: str) -> Any:
    """The piece of a name as it may be typed: either spelling, a plug-in's, or a module:name."""
    from flockwise.errors import ConfigError, PluginError
    from flockwise.plugins import find

    try:
        return find(kind, known_name(kind, name), pieces_of(kind))
    except PluginError as error:
        raise ConfigError(str(error)) from None  # a mistake in what was typed
