"""Options that several commands share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

FOLDER = click.Path(file_okay=False, path_type=Path)
DATA: Decorator = click.option(
    "--data", type=FOLDER, envvar="FLOCKWISE_DATA", help="Where data sets lie (or FLOCKWISE_DATA)."
)
# Of one run: a folder that was typed is that run's own, while FLOCKWISE_DATA is for all and says nothing of this one.
OWN_DATA: Decorator = click.option(
    "--data",
    type=FOLDER,
    help="The folder of data sets (or FLOCKWISE_DATA), or of your own data (data.path).",
)
JSON: Decorator = click.option("--json", "as_json", is_flag=True, help="For programs.")
RUN: Decorator = click.argument("run", type=click.Path(path_type=Path))
OUT: Decorator = click.option(
    "--out", type=click.Path(path_type=Path), help="The run directory (default: a new one below runs/)."
)
ADDRESS: Decorator = click.option(
    "--address", help="With --engine ray: the cluster: auto, local, HOST:PORT or ray://HOST:PORT."
)
_ROUNDS_JSON: Decorator = click.option(
    "--json", "as_json", is_flag=True, help="One JSON object per round, for programs."
)
_QUIET: Decorator = click.option("--quiet", "-q", is_flag=True, help="Only errors.")


def overrides(purpose: str) -> Decorator:
    """The option --set, with what it is for."""
    return click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help=purpose)


def while_training(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of every command that trains: --data, --json and --quiet."""
    return OWN_DATA(_ROUNDS_JSON(_QUIET(command)))
