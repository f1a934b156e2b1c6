"""The configs of cells: TOML files that come with the package, and what a cell changes in them."""

import hashlib
import json
from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from typing import Any

from flockwise.config import Config, load_config
from flockwise.config.reading import said_config


def config_of(folder: str, stem: str, overrides: Iterable[str], seed: int, workers: int = 1) -> Config:
    """The config of a cell, checked and complete."""
    with resources.as_file(resources.files("flockwise.papers") / folder / f"{stem}.toml") as path:
        return load_config(path, [*overrides, f"seed={seed}", f"engine.workers={workers}"])


def digest(folder: str, stem: str, overrides: Iterable[str], seed: int, forked_at: int | None = None) -> str:
    """What a result is known by: a hash of what a cell's config says that can change a run's numbers.

    Where data lie and how many workers train do not; a run that was forked is not the same as one that was not.
    Only what the cell says itself counts, so that a new field of configs does not make old results look stale.
    """
    with resources.as_file(resources.files("flockwise.papers") / folder / f"{stem}.toml") as path:
        said = said_config(path, [*overrides, f"seed={seed}"])
    content = said.model_dump(mode="json", exclude={"engine", "checkpoint", "name"}, exclude_unset=True)
    content["data"].pop("directory", None)
    return _hash(content, forked_at)


def run_name(config: Config, forked_at: int | None = None) -> str:
    """What a run is known by: the same for cells that say the same in other words, defaults left out or not."""
    content = {
        key: part for key, part in config.written().items() if key not in ("engine", "checkpoint", "name")
    }
    content["data"] = {key: part for key, part in content["data"].items() if key != "directory"}
    return _hash(content, forked_at)


def _hash(content: dict[str, Any], forked_at: int | None) -> str:
    text = json.dumps([content, forked_at], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def command(folder: str, stem: str, overrides: Iterable[str], seed: int) -> str:
    """The same run by hand."""
    sets = " ".join(f"--set {_quoted(item)}" for item in [*overrides, f"seed={seed}"])
    return f"flockwise run {Path('src/flockwise/papers') / folder / stem}.toml {sets}"


def _quoted(item: str) -> str:
    return f"'{item}'" if any(character in item for character in ' []"') else item
