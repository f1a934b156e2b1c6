"""Finding a piece by name: built in, from an installed package's entry point, or `module:name`."""

import importlib
import sys
from collections.abc import Mapping
from difflib import get_close_matches
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from flockwise.errors import PluginError


def find(kind: str, name: str, builtin: Mapping[str, Any], directory: Path | None = None) -> Any:
    """The piece of this kind and name.

    `kind` is the plural used for entry points, such as `aggregators` (group `flockwise.aggregators`).
    `module:name` is looked for beside the config (`directory`) first, then on the ordinary path.
    """
    if name in builtin:
        return builtin[name]
    if ":" in name:
        return _imported(kind, name, directory)
    offered = {point.name: point for point in entry_points(group=f"flockwise.{kind}")}
    if name in offered:
        return offered[name].load()
    raise PluginError(f"{kind}: no {name!r}; {nearest(name, [*builtin, *offered])}")


def nearest(name: str, known: list[str]) -> str:
    """The hint that follows an unknown name."""
    close = get_close_matches(name, known, n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else f"known are {', '.join(sorted(known))}"


def _imported(kind: str, name: str, directory: Path | None) -> Any:
    module_name, _, attribute = name.partition(":")
    folder = str(directory.resolve()) if directory else None
    if folder and folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise PluginError(f"{kind}: cannot import {module_name!r} for {name!r}: {error}") from error
    if not hasattr(module, attribute):
        public = [n for n in vars(module) if not n.startswith("_")]
        raise PluginError(f"{kind}: {module_name!r} has no {attribute!r}; {nearest(attribute, public)}")
    return getattr(module, attribute)
