"""A method inside another: what personal strategies add to, FedAvg or any clustered one by name."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from flockwise.aggregation import Rule
from flockwise.errors import ConfigError, InputError, PluginError
from flockwise.options import Count, Natural
from flockwise.stages import Method, chain, everyone, train, when
from flockwise.stages.own_models import OwnModels
from flockwise.stages.personal import Personal
from flockwise.strategies.finding import find_strategy
from flockwise.strategies.nested import Flocks, named

__all__ = ["Flocks", "Head", "RoundsBefore", "inside", "personal_inside", "then_alone"]

Head = Annotated[Count, "the last so many layers stay with each client; model.travels names others"]
RoundsBefore = Annotated[
    Natural, "joint rounds; in every round after, each client fine-tunes a copy of its own"
]


def inside(flocks: Mapping[str, Any] | str | None, rule: Rule) -> Method:
    """FedAvg, or the clustered method that was named, with this rule inside its flocks."""
    name, options = named(flocks or "fedavg")
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
