"""The API reference, made from signatures and docstrings: docs/api.md, written by generate.py."""

import inspect
import re
from functools import cached_property
from importlib import import_module
from types import ModuleType
from typing import Any

import api_examples

import flockwise
from flockwise.registry import Piece

MODULES = ("data", "splits", "models", "tasks", "schedules", "attacks", "similarity", "metrics", "trackers")
HEAD = """# API reference

Made by `make docs` from signatures and docstrings; `help(flockwise.flic)` says the same. Options of pieces with their bounds
are in [every piece by name](pieces.md), longer examples in [from Python](python.md). The examples here run
from the top of the page to its end, and begin with:
"""


def page() -> str:
    """All public names: those of `flockwise` itself, then those of its modules."""
    parts = [HEAD, _python(api_examples.BEGIN), "## flockwise\n"]
    own = [name for name in flockwise.__all__ if not isinstance(getattr(flockwise, name), ModuleType)]
    parts += [_entry(f"fw.{name}", getattr(flockwise, name)) for name in sorted(own, key=str.lower)]
    for module in MODULES:
        found = import_module(f"flockwise.{module}")
        parts.append(f"## flockwise.{module}\n\n{_first(found)}\n")
        public = getattr(found, "__all__", None) or [
            name for name, value in vars(found).items() if getattr(value, "__module__", "") == found.__name__
        ]
        names = sorted((name for name in public if not name.isupper() and name[0] != "_"), key=str.lower)
        parts += [
            _entry(f"fw.{module}.{name}", value) for name in names if callable(value := getattr(found, name))
        ]
    return "\n".join(parts)


def _entry(name: str, value: Any) -> str:
    shown = value.function if isinstance(value, Piece) else value
    text = inspect.cleandoc(inspect.getdoc(shown) or "")
    lines = [f"### `{name}{_signature(value, shown)}`\n"]
    if isinstance(value, Piece):
        paper = f" ({value.paper})" if value.paper else ""
        lines.append(f"{value.summary}{paper}.\n")
    if text:
        lines.append(_as_markdown(text) + "\n")
    if name.removeprefix("fw.") in api_examples.EXAMPLES:
        lines.append(_python(api_examples.EXAMPLES[name.removeprefix("fw.")]))
    if inspect.isclass(shown):
        lines += _members(shown)
    return "\n".join(lines)


def _python(code: str) -> str:
    """A block that tests run."""
    return f"```python\n{code.strip()}\n```\n"


def _members(kind: type) -> list[str]:
    """The public methods and properties that the class itself or its parents here have, a line each."""
    rows = []
    for name, member in inspect.getmembers(kind):
        inner = getattr(member, "fget", None) or getattr(member, "func", None) or member
        home = getattr(inner, "__module__", "")
        if name.startswith("_") or not str(home).startswith("flockwise"):
            continue
        words = (inspect.getdoc(member) or "").split("\n\n")[0].replace("\n", " ")
        call = "()" if inspect.isroutine(member) else ""
        if inspect.isroutine(member) or isinstance(member, property | cached_property):
            rows.append(f"- `{name}{call}`: {words}")
    return [*rows, ""] if rows else []


def _signature(value: Any, shown: Any) -> str:
    try:
        signature = inspect.signature(value if isinstance(value, Piece) else shown)
    except (TypeError, ValueError):
        return ""
    kept = []
    for parameter in signature.parameters.values():
        if parameter.name == "self":
            continue
        star = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        plain = isinstance(parameter.default, str | int | float | bool | tuple | type(None))
        default = (
            "" if parameter.default is parameter.empty else f"={parameter.default!r}" if plain else "=..."
        )
        kept.append(f"{star}{parameter.name}{default}")
    return f"({', '.join(kept)})"


def _as_markdown(text: str) -> str:
    """Indented examples become blocks; they are shown here, and run in the pages and tests."""
    parts, block = [], []
    for line in [*text.splitlines(), ""]:
        if line.startswith("    ") or (block and not line):
            block.append(line[4:])
            continue
        if block:
            body = "\n".join(block).strip("\n")
            parts.append(f"```\n{body}\n```\n")
            block = []
        parts.append(line)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts)).strip()


def _first(module: ModuleType) -> str:
    return (module.__doc__ or "").strip().split("\n\n")[0].replace("\n", " ")
