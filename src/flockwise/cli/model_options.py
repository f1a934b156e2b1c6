"""Options that say which model of a run is meant."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flockwise.cli.options import RUN

if TYPE_CHECKING:
    from flockwise import Run
    from flockwise.store import Run as RecordedRun


def of_a_model(command: Callable[..., Any]) -> Callable[..., Any]:
    """RUN, --flock, --client and --at."""
    at = click.option(
        "--at", type=click.IntRange(min=1), help="After this round, which was kept (default: the last)."
    )
    client = click.option("--client", help="The model of this client: its number, or its name.")
    flock = click.option("--flock", type=click.IntRange(min=0), help="The model of this flock.")
    return RUN(flock(client(at(command))))


def found_model(path: Path, flock: int | None, client: str | None) -> "tuple[Run, dict[str, Any]]":
    """The run, and which of its models: without either option the one that most clients have."""
    import flockwise

    if flock is not None and client is not None:
        raise click.UsageError("--flock, --client: say one or the other")
    run = flockwise.open_run(path)
    return run, {"flock": flock, "client": None if client is None else client_number(run, client)}


def client_number(run: "RecordedRun", said: str) -> int:
    """The number of a client that is said by its name or its number; a name comes first."""
    from flockwise.errors import InputError

    try:
        return run.client_number(said)
    except InputError as error:
        raise click.UsageError(str(error)) from error
