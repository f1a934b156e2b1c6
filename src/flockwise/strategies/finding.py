"""Strategies by name: built in, from a plug-in, or any function of a user's own."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from flockwise.errors import PluginError
from flockwise.plugins import find
from flockwise.registry import config_name
from flockwise.stages.method import Method
from flockwise.strategies.strategy import GIVEN, STRATEGIES, Strategy


def as_strategy(function: Callable[..., Method], name: str | None = None) -> Strategy[Any]:
    """A strategy made of any keyword function that returns a Method."""
    if isinstance(function, Strategy):
        return function
    if not callable(function):
        raise PluginError(
            f"strategy.name = {name!r}: is a {type(function).__name__}, must be a function that returns a Method"
        )
    summary = (function.__doc__ or "a strategy of your own").strip().splitlines()[0]
    return Strategy(name or config_name(function), summary, function, GIVEN)


def find_strategy(name: str, directory: Path | None = None) -> Strategy[Any]:
    """The strategy of this name: built in, from a plug-in, or `module:function`."""
    return as_strategy(find("strategies", name, STRATEGIES, directory), name)
