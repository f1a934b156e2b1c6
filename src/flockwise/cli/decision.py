"""What a person decides about a client: a command for each decision."""

from pathlib import Path

import click

from flockwise.cli.model_options import client_number
from flockwise.cli.options import RUN
from flockwise.terminal import printable


def decision(action: str, told: str) -> click.Command:
    """The command that files a decision with a run, which takes it up at its next round; clients by number or name."""

    @click.command(action, help=told)
    @RUN
    @click.argument("clients", nargs=-1, required=True)
    def command(run: Path, clients: tuple[str, ...]) -> None:
        from flockwise.store import open_run
        from flockwise.store.requests import file_request

        found = open_run(run)
        numbers = [
            client_number(found, client) for client in clients
        ]  # all of them are known, or nothing is filed
        for number in numbers:
            file_request(run, {"action": action, "client": number})
        when = (
            "its next round"
            if found.state == "running"
            else "the round after `flockwise resume` (or `continue`)"
        )
        click.echo(
            f"{action}: {', '.join(printable(found.called(number)) for number in numbers)}, from {when} on"
        )

    return command
