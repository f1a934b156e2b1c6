"""A method inside another: what a strategy adds to, FedAvg or any clustered one by name."""

from collections.abc import Mapping
from typing import Annotated, Any

from flockwise.aggregation import Rule
from flockwise.errors import ConfigError, InputError, PluginError
from flockwise.registry import OWN
from flockwise.stages.method import Method
from flockwise.strategies.strategy import find_strategy

Flocks = Annotated[
    dict[str, Any] | str | None,
    "the clustered method whose flocks share models, such as {name = 'flic', warmup = 5}; none: one model for all",
]


def inside(flocks: Mapping[str, Any] | str | None, rule: Rule) -> Method:
    """FedAvg, or the clustered method that was named, with this rule inside its flocks."""
    named = {"name": flocks} if isinstance(flocks, str) else dict(flocks or {"name": "fedavg"})
    name = named.pop("name", OWN)
    if not isinstance(name, str) or name == OWN:
        raise InputError(f"flocks.name = {name!r}: must be the name of a strategy, such as 'flic'")
    try:
        return find_strategy(name)(rule=rule, **named)
    except PluginError as error:
        raise InputError(f"flocks.name: {error}") from error
    except ConfigError as error:
        raise InputError(f"flocks.{str(error).removeprefix('strategy.')}") from error
