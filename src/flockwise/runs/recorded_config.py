"""The config of a run that is on record."""

from pathlib import Path

from flockwise.config import Config, parse_config
from flockwise.errors import ConfigError, RunError
from flockwise.store import Run


def config_of_run(run: Run, directory: Path) -> Config:
    """The checked config of a run; a RunError that names the file if it cannot be run."""
    try:
        return parse_config(run.config, directory=directory)
    except ConfigError as error:
        why = "; ".join(str(error).splitlines())
        raise RunError(f"{run.path}/config.toml: cannot be run: {why}") from error
