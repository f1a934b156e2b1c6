"""Reading a config from TOML, and saying in one line what is wrong with it."""

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from flockwise.config.resolving import resolve
from flockwise.config.sections import Config, OpenSection
from flockwise.errors import ConfigError
from flockwise.options import named, validated

_MOST_BITS = 63  # and a sign
OPTIONS = "_parameters"  # the options of the piece that `clustering` names stand in `clustering_parameters`


def load_config(path: str | Path, overrides: Iterable[str] = ()) -> Config:
    """Read a TOML file, apply `key=value` overrides, check everything, fill everything in."""
    return resolve(said_config(path, overrides), Path(path).parent)


def said_config(path: str | Path, overrides: Iterable[str] = ()) -> Config:
    """What a file and its overrides say themselves; options of pieces are neither checked nor filled in."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    try:
        content = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also of numbers with thousands of digits
        raise ConfigError(f"{path}: not valid TOML: {error}") from error
    return _said(content, overrides)


def parse_config(
    content: Mapping[str, Any], overrides: Iterable[str] = (), directory: Path | None = None
) -> Config:
    """Check a config given as a mapping; `directory` is where a user's own pieces are looked for."""
    return resolve(_said(content, overrides), directory)


def _said(content: Mapping[str, Any], overrides: Iterable[str]) -> Config:
    merged = _copy(content)
    for override in sorted(overrides, key=_names_first):
        _override(merged, override)
    _refuse_endless_numbers(merged, "")
    return validated(Config, merged)


def _names_first(override: str) -> tuple[bool, bool]:
    """Another piece has other options, which may be set as well."""
    key = override.partition("=")[0].strip()
    return not key.endswith(".name"), OPTIONS in key


def _refuse_endless_numbers(value: Any, name: str) -> None:
    """TOML's whole numbers have 64 bits; in hexadecimal any length is read, and cannot even be shown."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            _refuse_endless_numbers(item, f"{name}.{named(key)}" if name else named(key))
    elif isinstance(value, list):
        for item in value:
            _refuse_endless_numbers(item, name)
    elif isinstance(value, int) and value.bit_length() > _MOST_BITS:
        raise ConfigError(f"{name} = a number of {value.bit_length()} bits: must fit into 64, such as 42")


def _override(content: dict[str, Any], override: str) -> None:
    key, equals, text = override.partition("=")
    if not equals or not key.strip():
        raise ConfigError(f"--set {override}: must be key=value, such as training.epochs=5")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        value = text  # a bare word is a string
    *sections, last = key.strip().split(".")
    place = content
    for section in sections:
        place = place.setdefault(section, {})
        if not isinstance(place, dict):
            raise ConfigError(f"--set {override}: {section} is not a section")
    if sections and last == "name" and place.get("name", value) != value:
        _forget_options(sections, place)
    elif place.get(last, value) != value:
        place.pop(f"{last}{OPTIONS}", None)
    place[last] = value


def with_settings(content: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """A config's content with more said on top; a section that names another piece forgets the other one's options."""
    changed: dict[str, Any] = _copy(content)
    for key, value in settings.items():
        before = changed.get(key)
        if isinstance(value, Mapping) and isinstance(before, dict):
            if "name" in value and before.get("name", value["name"]) != value["name"]:
                _forget_options([key], before)
            for option, said in value.items():
                if before.get(option, said) != said:
                    before.pop(f"{option}{OPTIONS}", None)
            changed[key] = {**before, **_copy(value)}
        else:
            changed[key] = _copy(value)
    return changed


def _forget_options(sections: list[str], place: dict[str, Any]) -> None:
    """Another piece is named: what was said of the other one's own options is not for it."""
    kind = Config.model_fields[sections[0]].annotation if sections[0] in Config.model_fields else None
    if isinstance(kind, type) and issubclass(kind, OpenSection):
        own = kind.model_fields if len(sections) == 1 else {"name"}
        for option in [key for key in place if key not in own]:
            del place[option]


def _copy(value: Any) -> Any:
    return {key: _copy(item) for key, item in value.items()} if isinstance(value, Mapping) else value
