"""The config of a run that is on record."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flockwise.config import Config, parse_config
from flockwise.errors import ConfigError, FlockwiseError, RunError
from flockwise.notes import OptionsOf
from flockwise.options import noted
from flockwise.registry import OWN
from flockwise.store import Run
from flockwise.strategies import find_strategy


def config_of_run(run: Run, directory: Path) -> Config:
    """The checked config of a run; a RunError that names the file if it cannot be run."""
    try:
        return parse_config(recorded(run.config, directory), directory=directory)
    except ConfigError as error:
        why = "; ".join(str(error).splitlines())
        raise RunError(f"{run.path}/config.toml: cannot be run: {why}") from error


def recorded(content: Mapping[str, Any], directory: Path | None) -> dict[str, Any]:
    """A config as it was written, without options that counted for nothing: later releases refuse them."""
    section = content.get("strategy")
    if not isinstance(section, Mapping):
        return dict(content)
    return {**content, "strategy": _that_count(section, directory)}


def _that_count(section: Mapping[str, Any], directory: Path | None) -> dict[str, Any]:
    kept, name = dict(section), section.get("name", OWN)
    if not isinstance(name, str) or name == OWN:
        return kept
    try:
        strategy = find_strategy(name, directory)
        for option, inner in noted(strategy.function, OptionsOf):
            if inner.of == "strategies" and isinstance(kept.get(option), Mapping):
                kept[option] = _that_count(kept[option], directory)
        said = {option: value for option, value in kept.items() if option != "name"}
        for option in strategy.ignored(strategy.resolved(said, "strategy.", directory)):
            kept.pop(option, None)
    except FlockwiseError:
        pass  # told when the config is read
    return kept
