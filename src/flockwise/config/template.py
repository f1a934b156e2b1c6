"""A commented config to start from, made from the fields themselves so that it is never out of date."""

import json
from typing import Any

from pydantic import BaseModel

from flockwise import plugins
from flockwise.config.sections import Config
from flockwise.strategies import STRATEGIES

_STARTS: dict[str, dict[str, Any]] = {
    "split": {"name": "label_swap", "clients": 20},
    "model": {"name": "mlp"},
    "training": {"epochs": 3, "learning_rate": 0.1},
    "sampling": {"fraction": 0.5},
}
_EXTRA = {"split": "groups = 4  # the split's own parameters stand here; see `flockwise list splits`\n"}


def template(strategy: str) -> str:
    """A config that runs as it is; every field with its meaning."""
    chosen = plugins.find("strategies", strategy, STRATEGIES)
    lines = [f"# {chosen.name}: {chosen.summary}", "# Run it with: flockwise run THIS_FILE", ""]
    sections = []
    for name, field in Config.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            sections.append(_section(name, kind, _STARTS.get(name, {}), chosen))
        else:
            lines.append(f"{name} = {_toml(field.default if name != 'name' else strategy)}")
    return "\n".join([*lines, "", *sections])


def _section(name: str, kind: type[BaseModel], start: dict[str, Any], strategy: Any) -> str:
    text = f"[{name}]\n"
    if name == "strategy":
        text += _fields(kind, {"name": strategy.name}) + _fields(strategy.options, {})
    else:
        text += _fields(kind, start)
    return text + _EXTRA.get(name, "")


def _fields(kind: type[BaseModel], start: dict[str, Any]) -> str:
    text = ""
    for name, field in kind.model_fields.items():
        value = start.get(name, field.get_default(call_default_factory=True))
        note = f"  # {field.description}" if field.description else ""
        text += f"# {name} ={note}\n" if value is None else f"{name} = {_toml(value)}{note}\n"
    return text


def _toml(value: Any) -> str:
    return json.dumps(value)  # TOML writes strings, numbers, booleans, and lists of them as JSON does
