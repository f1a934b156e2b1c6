"""Put a changed module into the place of the one that is loaded, whoever has taken what from it."""

import ast
import sys
from functools import cached_property
from types import FunctionType, ModuleType
from typing import Any


def graft(module: ModuleType, tree: ast.Module) -> None:
    """Run the changed source as a module of its own, and give the loaded functions and constants what it has."""
    changed = ModuleType(module.__name__)
    changed.__file__ = module.__file__
    exec(compile(tree, str(module.__file__), "exec"), changed.__dict__)  # noqa: S102 - a mutant of our own source
    for name, new in vars(changed).items():
        old = vars(module).get(name)
        if name.startswith("__") or getattr(new, "__module__", module.__name__) != module.__name__:
            continue
        if isinstance(old, type) and isinstance(new, type):
            for part, own in vars(new).items():
                if part not in vars(old) and isinstance(own, FunctionType):
                    setattr(old, part, own)  # what a decorator makes, such as ==
                else:
                    _functions(vars(old).get(part), own)
        elif not _functions(old, new) and isinstance(
            new, int | float | str | bool | tuple | frozenset | dict
        ):
            _everywhere(name, old, new)


def _functions(old: Any, new: Any) -> bool:
    """Give a function, or what wraps one, the code of another; whether there was one."""
    pair = _plain(old), _plain(new)
    if not all(isinstance(each, FunctionType) for each in pair):
        return False
    before, after = pair
    before.__code__, before.__defaults__, before.__kwdefaults__ = (
        after.__code__,
        after.__defaults__,
        after.__kwdefaults__,
    )
    if hasattr(old, "cache_clear"):
        old.cache_clear()
    return True


def _plain(found: Any) -> Any:
    if isinstance(found, property):
        found = found.fget
    if isinstance(found, cached_property):
        found = found.func
    if isinstance(found, classmethod | staticmethod):
        found = found.__func__
    return getattr(found, "__wrapped__", found)


def _everywhere(name: str, old: object, new: object) -> None:
    for other in list(sys.modules.values()):
        if (
            other is not None
            and other.__name__.startswith(("flockwise", "tests"))
            and vars(other).get(name) is old
        ):
            setattr(other, name, new)
