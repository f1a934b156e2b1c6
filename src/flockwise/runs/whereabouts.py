"""Where a run's data lie, when somebody says so beside the config: `--data FOLDER`, `data=...`."""

import inspect
from pathlib import Path

from flockwise import plugins
from flockwise.config import Config
from flockwise.data import DATASETS, NAMED_DATA
from flockwise.errors import ConfigError
from flockwise.registry import OWN, Piece


def sets_for(config: Config, data: Path | None) -> Path | None:
    """The folder of data sets, for a config that reads one and does not say itself where it is."""
    return data if _reads_sets(config) and not config.data.directory else None


def pointed_at(config: Config, data: str | Path | None, directory: Path | None) -> tuple[Config, Path | None]:
    """The config for data in the folder `data`, and the folder of data sets if it is one; refused if nothing reads it.

    For data of a user's own the folder is `data.path`, so that the run's record says what it was trained on.
    """
    if data is None:
        return config, None
    name = config.data.name
    if _reads_sets(config):
        if config.data.directory:
            raise ConfigError(
                f"data.directory = {config.data.directory!r}: says where {name} lies, and so does data = {str(data)!r}; "
                "leave one of them out"
            )
        return config, Path(data)
    if not _takes_a_path(name, directory):
        why = "the clients were given in Python" if name == OWN else f"data.name = {name!r} reads no folder"
        raise ConfigError(f"data = {str(data)!r}: nothing would read it, since {why}; leave it out")
    path = _written(Path(data).resolve(), (directory or Path()).resolve())
    return config.model_copy(update={"data": config.data.model_copy(update={"path": path})}), None


def _reads_sets(config: Config) -> bool:
    return config.data.name in DATASETS and bool(DATASETS[config.data.name].layouts)


def _takes_a_path(name: str, directory: Path | None) -> bool:
    if name == OWN or name in DATASETS:
        return False
    found = plugins.find("datasets", name, NAMED_DATA, directory)
    return "path" in inspect.signature(found.function if isinstance(found, Piece) else found).parameters


def _written(path: Path, beside: Path) -> str:
    """As a config has it: relative to its folder, where it lies below."""
    return str(path.relative_to(beside) if path.is_relative_to(beside) else path)
