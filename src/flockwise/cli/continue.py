"""continue: a new run from the flock models and memory of another."""

from pathlib import Path

import click

from flockwise.cli.elsewhere import telling_others
from flockwise.cli.options import OUT, RUN, overrides, while_training
from flockwise.cli.progress import follow as follow_run


@click.command("continue")
@RUN
@OUT
@overrides("What is different now, such as strategy.name=shepherd.")
@click.option("--more", type=click.IntRange(min=1), help="Rounds to train (default: as many as RUN had).")
@click.option(
    "--at", type=click.IntRange(min=1), help="Start from this round of RUN (default: its last checkpoint)."
)
@click.option("--match", type=click.Choice(["name", "number", "nobody"]), default="name", show_default=True,
              help="How clients are known again; nobody: all of them are new.")  # fmt: skip
@click.option("--follow", type=click.FloatRange(min=0), default=0.1, show_default=True,
              help="A known client moves to a flock in which it does this much better.")  # fmt: skip
@telling_others
@while_training
def continue_run(
    run: Path, out: Path | None, overrides: tuple[str, ...], more: int | None, at: int | None, match: str,
    follow: float, data: Path | None, as_json: bool, quiet: bool, on: tuple[tuple[str, str], ...], track: tuple[str, ...],
) -> None:  # fmt: skip
    """Start a new run from the flock models and the memory of RUN, with new data, new clients or fewer clients.

    Known clients keep their flocks, newcomers find one by their validation data. RUN is only read.
    """
    import flockwise

    follow_run(
        flockwise.continue_run, run, overrides=overrides, more=more, at=at, match=match, follow=follow, out=out,
        data=data, as_json=as_json, quiet=quiet, on=on, track=track,
    )  # fmt: skip
