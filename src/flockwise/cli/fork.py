"""fork: a new run from a checkpoint of another."""

from pathlib import Path

import click

from flockwise.cli.elsewhere import telling_others
from flockwise.cli.options import OUT, RUN, overrides, while_training
from flockwise.cli.progress import follow


@click.command()
@RUN
@click.option("--at", type=click.IntRange(min=1), required=True, help="The round to start from.")
@OUT
@overrides("What is different from there on.")
@telling_others
@while_training
def fork(
    run: Path, at: int, out: Path | None, overrides: tuple[str, ...], data: Path | None, as_json: bool, quiet: bool,
    on: tuple[tuple[str, str], ...], track: tuple[str, ...],
) -> None:  # fmt: skip
    """Start a new run from round AT of RUN, with another method, rule or training."""
    import flockwise

    follow(
        flockwise.fork,
        run,
        at,
        overrides,
        out=out,
        data=data,
        as_json=as_json,
        quiet=quiet,
        on=on,
        track=track,
    )
