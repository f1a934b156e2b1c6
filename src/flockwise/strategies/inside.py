"""A method inside another: what personal strategies add to, FedAvg or any clustered one by name."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from pydantic import BeforeValidator

from flockwise.aggregation import Rule
from flockwise.errors import ConfigError, InputError, PluginError
from flockwise.notes import Around, OptionsOf
from flockwise.options import Count, Natural
from flockwise.registry import OWN
from flockwise.stages import Method, chain, everyone, train, when
from flockwise.stages.own_models import OwnModels
from flockwise.stages.personal import Personal
from flockwise.strategies.strategy import find_strategy

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
    name, options = _named(flocks)
    if not isinstance(name, str) or name == OWN:
        raise ConfigError(f"{around.name}.name = {name!r}: must be the name of a strategy, such as 'flic'")
    try:
        found = find_strategy(name, around.directory)
    except PluginError as error:
        raise ConfigError(f"{around.name}.name: {error}") from error
    return {"name": name, **found.resolved(options, f"{around.name}.", around.directory)}


def _named(flocks: Mapping[str, Any] | str) -> tuple[Any, dict[str, Any]]:
    options = {"name": flocks} if isinstance(flocks, str) else dict(flocks)
    return options.pop("name", OWN), options


Flocks = Annotated[
    dict[str, Any] | str | None,
    BeforeValidator(_by_name),
    OptionsOf("strategies", _in_full),
    "the clustered method whose flocks share models, such as {name = 'flic', warmup = 5}; none: one model for all",
]
Head = Annotated[Count, "the last so many layers stay with each client; model.travels names others"]
RoundsBefore = Annotated[
    Natural, "joint rounds; in every round after, each client fine-tunes a copy of its own"
]


def inside(flocks: Mapping[str, Any] | str | None, rule: Rule) -> Method:
    """FedAvg, or the clustered method that was named, with this rule inside its flocks."""
    name, options = _named(flocks or "fedavg")
    try:
        return find_strategy(name)(rule=rule, **options)
    except PluginError as error:
        raise InputError(f"flocks.name: {error}") from error
    except ConfigError as error:
        raise InputError(f"flocks.{str(error).removeprefix('strategy.')}") from error


def personal_inside(flocks: Mapping[str, Any] | str | None, rule: Rule, personal: Personal) -> Method:
    """The same, with something that clients keep to themselves."""
    method = inside(flocks, rule)
    if method.personal is not None:
        raise InputError(
            f"flocks.name = {method.name!r}: its clients keep models of their own already; choose another"
        )
    return replace(method, personal=personal)


def then_alone(joint: Method, rounds: int) -> Method:
    """The joint method for some rounds; in every round after, each client goes on alone from the model it has."""
    own = OwnModels(joint.serve)
    alone = chain(train(everyone, own), own.keep)
    stages = when(lambda round: round.number > rounds, alone, otherwise=joint.round)
    return replace(joint, round=stages, serve=own)
