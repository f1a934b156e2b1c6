"""Checks the types of a split's arguments, which often come from a config file, before it starts."""

import inspect
import types
import typing
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from flockwise.errors import InputError

P = ParamSpec("P")
R = TypeVar("R")
WORDS = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "text",
    types.NoneType: "left out",
}


def typed(function: Callable[P, R]) -> Callable[P, R]:
    """The function, refusing arguments that are not of their annotated type with one clear line."""
    hints = typing.get_type_hints(function)
    signature = inspect.signature(function)

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        for name, value in signature.bind(*args, **kwargs).arguments.items():
            if not _fits(value, hints[name]):
                raise InputError(f"{name} = {value!r}: must be {_words(hints[name])}")
        return function(*args, **kwargs)

    return checked


def _fits(value: Any, hint: Any) -> bool:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return any(_fits(value, option) for option in typing.get_args(hint))
    if typing.get_origin(hint) is typing.Literal:
        return isinstance(value, str) and value in typing.get_args(hint)
    if typing.get_origin(hint) is Sequence:
        listed = isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, str)
        return listed and all(_fits(item, typing.get_args(hint)[0]) for item in value)
    if isinstance(value, (bool, np.bool_)):
        return hint is bool
    if hint is int:
        return isinstance(value, (int, np.integer))
    if hint is float:
        return isinstance(value, (int, float, np.integer, np.floating))
    return isinstance(value, hint)


def _words(hint: Any) -> str:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return " or ".join(_words(option) for option in typing.get_args(hint))
    if typing.get_origin(hint) is typing.Literal:
        return f"one of {', '.join(typing.get_args(hint))}"
    if typing.get_origin(hint) is Sequence:
        inner = _words(typing.get_args(hint)[0]).removeprefix("a ")
        return f"a list of {inner.replace('list', 'lists') if 'list' in inner else inner + 's'}"
    return WORDS.get(hint, f"a {hint.__name__}")
