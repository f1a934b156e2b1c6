"""A commented config to start from, made from the fields themselves so that it is never out of date."""

import json
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel

from flockwise import plugins
from flockwise.config.sections import Config
from flockwise.options import written
from flockwise.strategies import STRATEGIES

_STARTS: dict[str, dict[str, Any]] = {
    "split": {"name": "label_swap", "clients": 20, "groups": 4},
    "model": {"name": "mlp"},
    "training": {"epochs": 3, "learning_rate": 0.1},
    "sampling": {"fraction": 0.5},
}


def template(strategy: str) -> str:
    """A config that runs as it is; every field with its meaning."""
    chosen = plugins.find("strategies", strategy, STRATEGIES)
    lines = [f"# {chosen.name}: {chosen.summary}"]
    lines += [f"# Mind: {chosen.warning}"] if chosen.warning else []
    lines += ["# Run it with: flockwise run THIS_FILE", ""]
    sections = []
    for name, field in Config.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            sections.append(_section(name, kind, {**_STARTS, **(chosen.start or {})}.get(name, {}), chosen))
        else:
            lines.append(f"{name} = {_toml(field.default if name != 'name' else strategy)}")
    return "\n".join([*lines, "", *sections])


def _section(name: str, kind: type[BaseModel], start: dict[str, Any], strategy: Any) -> str:
    text = f"[{name}]\n"
    if name == "strategy":
        text += _fields(kind, {"name": strategy.name}) + _fields(strategy.options, {})
    else:
        text += _fields(kind, start)
    for key in [key for key in start if key not in kind.model_fields and name != "strategy"]:
        text += (
            f"{key} = {_toml(start[key])}  # a parameter of {start['name']}; see `flockwise list {name}s`\n"
        )
    return text


def _fields(kind: type[BaseModel], start: dict[str, Any]) -> str:
    text = ""
    for name, default, meaning in described(kind):
        value = _toml(start[name]) if name in start else default
        text += f"{name} = {value}" + (f"  # {meaning}" if meaning else "") + "\n"
    return text


def described(kind: type[BaseModel]) -> list[tuple[str, str, str]]:
    """Each field's name, its default as a config writes it, and what it is for."""
    rows = []
    for name, field in kind.model_fields.items():
        default = "" if field.is_required() else _toml(field.get_default(call_default_factory=True))
        choices = " | ".join(json.dumps(choice) for choice in _choices(field.annotation))
        rows.append((name, default, "; ".join(part for part in (choices, field.description) if part)))
    return rows


def _choices(annotation: Any) -> list[Any]:
    """The words that a field takes, if it takes words from a list."""
    if get_origin(annotation) is Literal:
        return list(get_args(annotation))
    return [word for part in get_args(annotation) for word in _choices(part)] if get_args(annotation) else []


def _toml(value: Any) -> str:
    return json.dumps(
        written(value)
    )  # TOML writes strings, numbers, booleans, and lists of them as JSON does
