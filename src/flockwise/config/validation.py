"""Validation errors as one line each: the field, the value, the rule, the nearest valid name."""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from flockwise.errors import ConfigError
from flockwise.plugins import nearest

M = TypeVar("M", bound=BaseModel)


def validated(model: type[M], values: Mapping[str, Any], prefix: str = "") -> M:
    """The validated model, or a ConfigError with a line per fault."""
    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        faults: dict[str, list[str]] = {}
        for fault in error.errors():
            field, message = _line(model, fault, prefix)
            faults.setdefault(field, []).append(message)
        # A field that may be of several kinds has a message for each of them.
        lines = [
            f"{field}: {', or '.join(dict.fromkeys(messages))}" for field, messages in sorted(faults.items())
        ]
        raise ConfigError("\n".join(lines)) from None


def shown(value: Any) -> str:
    """A value as it may appear in a message: short, and without control characters."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def named(key: object) -> str:
    """A key as it may appear in a message: quoted if it is empty or holds spaces or control characters."""
    text = str(key)
    return text if text and text.isprintable() and " " not in text else repr(text)


def _line(model: type[BaseModel], fault: Any, prefix: str) -> tuple[str, str]:
    # Union alternatives appear in the location as type names; the field path is what precedes them.
    path, here = [], model
    for part in fault["loc"]:
        fields = here.model_fields if isinstance(here, type) and issubclass(here, BaseModel) else {}
        if part in fields:
            path.append(str(part))
            inner = fields[part].annotation
            here = inner if isinstance(inner, type) else object  # type: ignore[assignment]
        elif fault["type"] == "extra_forbidden":
            name = ".".join([*path, named(part)])
            return f"{prefix}{name}", f"unknown key; {nearest(str(part), list(fields))}"
        elif isinstance(part, int):
            path.append(str(part))
    message = fault["msg"][0].lower() + fault["msg"][1:]
    return f"{prefix}{'.'.join(path)} = {shown(fault['input'])}", message
