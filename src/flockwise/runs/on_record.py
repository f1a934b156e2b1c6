"""What a run's own directory says about how it was made: its config, and the shape of its samples."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from flockwise.config import Config, parse_config
from flockwise.data import Dataset, Federation, Shard
from flockwise.errors import ConfigError
from flockwise.store import Run

_SAMPLES = "samples"  # in environment.json


def directory_of(found: Run) -> Path:
    """Where the run's own pieces are looked for."""
    return Path(str(found.environment.get("directory", ".")))


def config_on_record(found: Run, overrides: Iterable[str] = ()) -> Config:
    """The run's config, changed by overrides; a fault of the file's own is told with its name."""
    directory = directory_of(found)
    try:
        config = parse_config(found.config, directory=directory)
    except ConfigError as error:
        lines = [f"{found.path}/config.toml: {line}" for line in str(error).splitlines()]
        raise ConfigError("\n".join(lines)) from error
    changes = list(overrides)
    return parse_config(found.config, changes, directory) if changes else config


def samples_told(federation: Federation) -> dict[str, Any]:
    """For the record of a new run: what a model must take and tell apart, so that it can be made without the data."""
    data = federation.dataset
    return {_SAMPLES: {"shape": list(data.x.shape[1:]), "classes": int(data.classes)}}


def empty_federation(found: Run) -> Federation | None:
    """Nobody's data of the run's kind, to make its model for; None where the run does not say."""
    told = found.environment.get(_SAMPLES)
    if not isinstance(told, dict):
        return None
    shape, classes = told.get("shape"), told.get("classes")
    sizes = (
        [size for size in shape if type(size) is int and 0 < size < 1 << 24]
        if isinstance(shape, list)
        else []
    )
    if not sizes or sizes != shape or type(classes) is not int or not 0 < classes < 1 << 24:
        return None
    nothing = np.zeros(0, dtype=np.int64)
    data = Dataset("on record", np.zeros((0, *sizes), np.float32), nothing, 0, 1.0, classes)
    return Federation(data, (Shard(nothing, nothing, nothing),))
