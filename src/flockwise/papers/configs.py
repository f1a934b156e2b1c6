"""The configs of cells: TOML files that come with the package, and what a cell changes in them."""

import hashlib
import json
from collections.abc import Iterable
from importlib import resources
from pathlib import Path

from flockwise.config import Config, load_config
from flockwise.strategies import STRATEGIES


def config_of(folder: str, stem: str, overrides: Iterable[str], seed: int, workers: int = 1) -> Config:
    """The validated config of a cell."""
    with resources.as_file(resources.files("flockwise.papers") / folder / f"{stem}.toml") as path:
        return load_config(path, [*overrides, f"seed={seed}", f"engine.workers={workers}"])


def digest(config: Config, forked_at: int | None = None) -> str:
    """What a result is known by: a hash of what a cell's config says that can change a run's numbers.

    Where data lie and how many workers train do not; a run that was forked is not the same as one that was not.
    Only what the cell says itself counts, so that a new field of configs does not make old results look stale.
    """
    return _hash(config, forked_at, said=True)


def run_name(config: Config, forked_at: int | None = None) -> str:
    """What a run is known by: the same for cells that say the same in other words, defaults left out or not."""
    return _hash(config, forked_at, said=False)


def _hash(config: Config, forked_at: int | None, said: bool) -> str:
    content = config.model_dump(mode="json", exclude={"engine", "checkpoint", "name"}, exclude_unset=said)
    content["data"].pop("directory", None)
    if not said:
        given = {key: value for key, value in content["strategy"].items() if key != "name"}
        options = STRATEGIES[content["strategy"]["name"]].options
        content["strategy"] |= options.model_validate(given).model_dump(mode="json")
    text = json.dumps([content, forked_at], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def command(folder: str, stem: str, overrides: Iterable[str], seed: int) -> str:
    """The same run by hand."""
    sets = " ".join(f"--set {_quoted(item)}" for item in [*overrides, f"seed={seed}"])
    return f"flockwise run {Path('src/flockwise/papers') / folder / stem}.toml {sets}"


def _quoted(item: str) -> str:
    return f"'{item}'" if any(character in item for character in ' []"') else item
