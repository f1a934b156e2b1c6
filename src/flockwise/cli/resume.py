"""resume: go on with a run."""

from pathlib import Path

import click

from flockwise.cli.elsewhere import telling_others
from flockwise.cli.options import RUN, while_training
from flockwise.cli.progress import follow


@click.command()
@RUN
@click.option("--rounds", type=click.IntRange(min=1), help="Go on to this round instead of the config's.")
@click.option("--workers", type=click.IntRange(min=0), help="Worker processes; the result is the same.")
@telling_others
@while_training
def resume(
    run: Path,
    rounds: int | None,
    workers: int | None,
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
        as_json=as_json,
        quiet=quiet,
        on=on,
        track=track,
    )
