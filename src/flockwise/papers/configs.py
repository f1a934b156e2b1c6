"""The configs of cells: TOML files that come with the package, and what a cell changes in them."""

import hashlib
import json
from collections.abc import Iterable
from importlib import resources
from pathlib import Path

from flockwise.config import Config, load_config


def config_of(folder: str, stem: str, overrides: Iterable[str], seed: int, workers: int = 1) -> Config:
    """The validated config of a cell."""
    with resources.as_file(resources.files("flockwise.papers") / folder / f"{stem}.toml") as path:
        return load_config(path, [*overrides, f"seed={seed}", f"engine.workers={workers}"])


def digest(config: Config, forked_at: int | None = None) -> str:
    """What a result is known by: a hash of what a cell's config says that can change a run's numbers.

    Where data lie and how many workers train do not; a run that was forked is not the same as one that was not.
    Only what the cell says itself counts, so that a new field of configs does not make old results look stale.
    """
    content = config.model_dump(mode="json", exclude={"engine", "checkpoint", "name"}, exclude_unset=True)
    content["data"].pop("directory", None)
    text = json.dumps([content, forked_at], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def command(folder: str, stem: str, overrides: Iterable[str], seed: int) -> str:
    """The same run by hand."""
    sets = " ".join(f"--set {_quoted(item)}" for item in [*overrides, f"seed={seed}"])
    return f"flockwise run {Path('src/flockwise/papers') / folder / stem}.toml {sets}"


def _quoted(item: str) -> str:
    return f"'{item}'" if any(character in item for character in ' []"') else item
