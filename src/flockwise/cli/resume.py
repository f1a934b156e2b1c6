"""resume: go on with a run."""

from pathlib import Path
from typing import Any

import click

from flockwise.cli.elsewhere import telling_others
from flockwise.cli.options import ADDRESS, RUN, while_training
from flockwise.cli.progress import follow


@click.command()
@RUN
@click.option("--rounds", type=click.IntRange(min=1), help="Go on to this round instead of the config's.")
@click.option("--workers", type=click.IntRange(min=0), help="Worker processes; the result is the same.")
@click.option(
    "--engine", type=click.Choice(["local", "ray"]), help="Who trains from now on; the result is the same."
)
@ADDRESS
@telling_others
@while_training
def resume(
    run: Path,
    rounds: int | None,
    workers: int | None,
    engine: str | None,
    address: str | None,
    data: Path | None,
    as_json: bool,
    quiet: bool,
    on: tuple[tuple[str, str], ...],
    track: tuple[str, ...],
) -> None:
    """Go on with RUN from its last checkpoint, to the same bits."""
    import flockwise

    follow(
        flockwise.resume,
        run,
        data=data,
        rounds=rounds,
        workers=workers,
        engine=_opener(engine, address, workers or 0),
        as_json=as_json,
        quiet=quiet,
        on=on,
        track=track,
    )


def _opener(engine: str | None, address: str | None, workers: int) -> Any:
    """Another engine than the run had; None: the same."""
    import flockwise

    if address and engine != "ray":
        raise click.UsageError("--address goes with --engine ray")
    if engine == "ray":
        return flockwise.Ray(address or "auto", workers)
    return flockwise.Local(workers) if engine else None
