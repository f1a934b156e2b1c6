"""The option that names a method inside another, such as `flocks = {name = "flic", warmup = 5}`."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator

from flockwise.aggregation import Rule
from flockwise.errors import ConfigError, PluginError
from flockwise.notes import Around, OptionsOf
from flockwise.registry import OWN
from flockwise.stages import Method
from flockwise.strategies.finding import find_strategy

DEEPEST = 5


def _by_name(flocks: object) -> object:
    """A method made in Python as a config names it."""
    if not isinstance(flocks, Method):
        return flocks
    rule = flocks.options.get("rule")
    if isinstance(rule, Rule) and rule.name != "mean":
        raise ValueError(f"has the rule {rule.name!r}; give the rule to the method around it")
    return {"name": flocks.name, **{name: value for name, value in flocks.options.items() if name != "rule"}}


def _in_full(flocks: Mapping[str, Any] | str | None, around: Around) -> dict[str, Any] | None:
    """The method that is named, with all of its options."""
    if flocks is None:
        return None
    if around.name.count(".") > DEEPEST:
        raise ConfigError(f"{around.name}: a method may be inside another, but not so deep")
    name, options = named(flocks)
    if not isinstance(name, str) or name == OWN:
        raise ConfigError(f"{around.name}.name = {name!r}: must be the name of a strategy, such as 'flic'")
    try:
        found = find_strategy(name, around.directory)
    except PluginError as error:
        raise ConfigError(f"{around.name}.name: {error}") from error
    return {"name": name, **found.resolved(options, f"{around.name}.", around.directory)}


def named(flocks: Mapping[str, Any] | str) -> tuple[Any, dict[str, Any]]:
    """The name and the options."""
    options = {"name": flocks} if isinstance(flocks, str) else dict(flocks)
    return options.pop("name", OWN), options


Flocks = Annotated[
    dict[str, Any] | str | None,
    BeforeValidator(_by_name),
    OptionsOf("strategies", _in_full),
    "the clustered method whose flocks share models, such as {name = 'flic', warmup = 5}; none: one model for all",
]
