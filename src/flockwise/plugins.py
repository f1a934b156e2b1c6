"""Finding a piece by name: built in, from an installed package's entry point, or `module:name`."""

import importlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from importlib.metadata import entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from flockwise.errors import FlockwiseError, PluginError


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


@contextmanager
def running(piece: str) -> Iterator[None]:
    """While a user's own piece runs: whatever it raises becomes one line that names the piece."""
    try:
        yield
    except FlockwiseError:
        raise
    except Exception as error:
        told = (str(error).splitlines() or [""])[0]
        raise PluginError(f"{piece}: raised {type(error).__name__}: {told[:300]}") from error


def nearest(name: str, known: list[str]) -> str:
    """The hint that follows an unknown name."""
    close = get_close_matches(name, known, n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else f"known are {', '.join(sorted(known))}"


def _module(name: str, folder: Path | None) -> ModuleType:
    if folder and str(folder) not in sys.path:
        sys.path.insert(0, str(folder))  # also for what the module itself imports
    module = importlib.import_module(name)
    if folder is None:
        return module
    beside = folder.joinpath(*name.split(".")).with_suffix(".py")
    if not beside.is_file() or Path(module.__file__ or "").resolve() == beside:
        return module
    # Another config's folder has a module of the same name: this one goes by its path.
    unique = f"{name} in {folder}"
    if unique not in sys.modules:
        spec = spec_from_file_location(unique, beside)
        assert spec is not None and spec.loader is not None
        sys.modules[unique] = module_from_spec(spec)
        try:
            spec.loader.exec_module(sys.modules[unique])
        except BaseException:
            del sys.modules[unique]
            raise
    return sys.modules[unique]


def _imported(kind: str, name: str, directory: Path | None) -> Any:
    module_name, _, attribute = name.partition(":")
    try:
        module = _module(module_name, directory.resolve() if directory else None)
    except (ImportError, ValueError, TypeError) as error:  # the last two: no name of a module
        raise PluginError(f"{kind}: cannot import {module_name!r} for {name!r}: {error}") from error
    if not hasattr(module, attribute):
        public = [n for n in vars(module) if not n.startswith("_")]
        raise PluginError(f"{kind}: {module_name!r} has no {attribute!r}; {nearest(attribute, public)}")
    return getattr(module, attribute)
