"""What a person decides about a client: a command for each decision."""

from pathlib import Path

import click

from flockwise.cli.options import RUN


def decision(action: str, told: str) -> click.Command:
    """The command that files a decision with a run, which takes it up at its next round."""

    @click.command(action, help=told)
    @RUN
    @click.argument("clients", type=click.IntRange(min=0), nargs=-1, required=True)
    def command(run: Path, clients: tuple[int, ...]) -> None:
        from flockwise.store import open_run
        from flockwise.store.requests import file_request

        for client in clients:
            file_request(run, {"action": action, "client": client})
        when = "its next round" if open_run(run).state == "running" else "the round after `flockwise resume`"
        click.echo(f"{action}: {', '.join(f'client {client}' for client in clients)}, from {when} on")

    return command
