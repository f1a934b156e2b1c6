"""backup: a copy of a run that is whole."""

from pathlib import Path

import click

from flockwise.cli.options import RUN


@click.command()
@RUN
@click.argument("target", type=click.Path(path_type=Path))
def backup(run: Path, target: Path) -> None:
    """Copy RUN to the new directory TARGET, also while it goes on; the copy can be shown, resumed and forked."""
    from flockwise.store import back_up, open_run

    back_up(run, target)
    found = open_run(target)
    last = int(found.rounds[-1]) if len(found.rounds) else 0
    click.echo(
        f"{target}: round {last} of {found.goal}, checkpoints {', '.join(map(str, found.checkpoints)) or 'none'}"
    )
