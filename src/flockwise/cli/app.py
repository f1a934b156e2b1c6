"""The `flockwise` command and its subcommands."""

import atexit
import gc
import os
import sys
from importlib import import_module

import click

from flockwise import __version__
from flockwise.errors import ConfigError, FlockwiseError
from flockwise.terminal import printable

COMMANDS = {  # each in the file of its name
    "demo": "Train a small clustered federation and write its report.",
    "run": "Run a config.",
    "resume": "Go on with a run after a stop or a crash.",
    "fork": "Start a new run from a checkpoint of another.",
    "continue": "Start a new run from the models of another, with new data and clients.",
    "study": "Carry out a whole table of runs from one file.",
    "new": "Write a commented config to start from.",
    "runs": "List runs with state, round and accuracy.",
    "show": "Show one run in the terminal.",
    "predict": "Let a run's trained model predict from a file.",
    "save-model": "Write a run's trained model for other programs.",
    "clients": "Show what became of each client of a run.",
    "release": "Let clients that were set apart take part again.",
    "confirm": "Keep clients that were set apart out for good.",
    "quarantine": "Set clients apart.",
    "report": "Write the HTML report of one or several runs.",
    "serve": "Watch runs live in a browser.",
    "backup": "Copy a run that is whole, also while it goes on.",
    "logs": "Write what happens in runs as JSON lines, and go on as it does.",
    "export": "Write a run's numbers as CSV, JSON lines, Parquet, ...",
    "list": "List strategies, aggregators, attacks, splits, datasets, models, ...",
    "paper": "Measure the tables and figures of a paper.",
    "data": "Get, list and check data sets.",
    "flower": "Try a Flower deployment here; keep runs going on any.",
}


class _Lazy(click.Group):
    """Loads a command's module only when that command is used."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        file = name.replace("-", "_")
        function = {"list": "list_pieces", "continue": "continue_run"}.get(
            name, file
        )  # words of Python's own
        command: click.Command = getattr(import_module(f"flockwise.cli.{file}"), function)
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(context, args)
        except click.UsageError as error:
            from flockwise.plugins import nearest

            raise click.UsageError(
                f"no such command {args[0]!r}; {nearest(args[0], list(COMMANDS))}"
            ) from error


@click.command(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="flockwise")
def app() -> None:
    """Federated learning for clients that differ.

    Find the flocks among clients, train the right model for each, keep the wolves out.

    \b
    Start here:  flockwise demo
    Then:        flockwise new flic > my.toml && flockwise run my.toml
    """


def main() -> None:
    """Run the command line; a mistake of the user's is one line on stderr and exit code 2, a failure 1."""
    atexit.register(
        gc.freeze
    )  # what is left goes with the process: to collect it first takes most of a second
    try:
        code = app(standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except click.Abort:
        click.echo("stopped", err=True)
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except FlockwiseError as error:
        for line in str(error).splitlines():
            plain = False if os.environ.get("NO_COLOR") else None
            click.echo(click.style("error: ", fg="red") + printable(line), err=True, color=plain)
        sys.exit(2 if isinstance(error, ConfigError) else 1)
    except BrokenPipeError:
        sys.exit(0)
    except MemoryError as error:
        why = printable(str(error)) or "no more to be had"
        click.echo(f"error: not enough memory: {why}; take fewer clients or a smaller model", err=True)
        sys.exit(1)
    except OSError as error:  # a full disk, a folder that may not be written
        where = f"{error.filename}: " if error.filename else ""
        click.echo(f"error: {printable(where)}{printable(error.strerror or str(error))}", err=True)
        sys.exit(1)
