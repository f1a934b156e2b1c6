"""Python objects as the config that says the same, for the record and for whoever resumes the run."""

from collections.abc import Callable, Mapping
from typing import Any

from torch import nn

from flockwise.aggregation import Rule
from flockwise.attacks import Attack
from flockwise.data import Federation
from flockwise.models import MODELS
from flockwise.options import written
from flockwise.registry import OWN
from flockwise.stages.method import Method
from flockwise.strategies import MEAN
from flockwise.training import Recipe


def config_of(
    method: Method, clients: Federation, model: nn.Module | Callable[..., nn.Module] | None,
    training: Recipe | None, attack: Attack | None, seed: int | None, sections: Mapping[str, Any],
) -> dict[str, Any]:  # fmt: skip
    """The content of a config; `sections` are what was given in words."""
    seed, federated = _federated(clients, seed)
    content: dict[str, Any] = {
        "seed": seed, **federated, **method_sections(method),
    }  # fmt: skip
    if model is not None:  # else it is the config's default
        content["model"] = {"name": _named(model)}
    if training is not None:
        content["training"] = training.section()
    if attack is not None:
        content["attack"] = {**written(attack.section()), "name": attack.name or OWN}
    return merged(content, sections)


def merged(content: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """A config's content with more said; sections that both have are put together."""
    both = {key for key in content.keys() & more.keys() if isinstance(content[key], Mapping)}
    inner = {key: {**content[key], **more[key]} for key in both if isinstance(more[key], Mapping)}
    return {**content, **more, **inner}


def method_sections(method: Method) -> dict[str, dict[str, Any]]:
    """The sections that say which method it is, with which rule."""
    rule = method.options.get("rule", MEAN)
    options = {name: value for name, value in method.options.items() if name != "rule"}
    return {
        "strategy": {"name": method.name, **options},
        "aggregation": written(rule.section()) if isinstance(rule, Rule) else {},
    }


def federated_sections(clients: Federation, seed: int) -> dict[str, Any]:
    """The sections [data] and [split] of these clients in a run with this seed."""
    return _federated(clients, seed)[1]


def _federated(clients: Federation, seed: int | None) -> tuple[int, dict[str, Any]]:
    """The sections that make this federation, where a config can; else only how many clients there are."""
    origin = clients.origin
    if origin is not None:
        split = dict(origin["split"])
        dealt = split.pop("seed", 0)
        if seed is None or seed == dealt:
            return dealt, {"data": dict(origin["data"]), "split": written(split)}
    return seed or 0, {"data": {"name": "own"}, "split": {"name": "iid", "clients": clients.clients}}


def _named(model: object) -> str:
    """The name of a registered model; anything else is the user's own."""
    name = getattr(model, "name", "")
    return name if isinstance(name, str) and name in MODELS and MODELS[name] is model else "own"
