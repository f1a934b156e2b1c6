"""serve: the live dashboard."""

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), default=Path("runs"))
@click.option("--host", default="127.0.0.1", show_default=True, help="Only this machine by default.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="0 takes any free one.")
@click.option("--open", "open_browser", is_flag=True, help="Open a browser.")
@click.option("--token-file", type=click.Path(path_type=Path),
              help="A file with the token, of at least 16 characters; by default one is made and printed.")  # fmt: skip
@click.option(
    "--name", "names", multiple=True, help="Another host name by which it is reached, say by a proxy."
)
@click.option(
    "--private/--public", default=None,
    help="Whether looking needs the token, too. By default it does unless only this machine can reach it.",
)  # fmt: skip
def serve(
    folder: Path, host: str, port: int, open_browser: bool, token_file: Path | None, names: tuple[str, ...],
    private: bool | None,
) -> None:  # fmt: skip
    """Show the runs in FOLDER in a browser, and follow the ones that go on.

    It reads run directories and starts nothing. Releasing or confirming a client that was set apart needs the
    token that is printed here. /health says that it is up, /metrics has numbers of all runs for Prometheus.
    """
    from flockwise.errors import PluginError

    if not folder.is_dir():
        raise click.UsageError(
            f"{folder}: no such folder; give the one that holds runs, or start a run first"
        )
    try:
        from flockwise.dashboard import serve as serve_runs
    except ImportError as error:
        raise PluginError(
            f"the dashboard is not installed: pip install 'flockwise[dashboard]' ({error})"
        ) from error
    token = _token(token_file) if token_file else None
    serve_runs(folder, host, port, token, open_browser, names=names, private=private)


def _token(path: Path) -> str:
    from flockwise.errors import InputError

    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "holds more than ASCII"
        raise InputError(f"--token-file {path}: cannot be read: {why}") from error


@contextlib.contextmanager
def beside(folder: Path) -> Iterator[None]:
    """The dashboard in a process of its own, for as long as a run goes on."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "flockwise", "serve", str(folder)]
    with subprocess.Popen(command, start_new_session=True, stdout=sys.stderr) as process:
        try:
            yield
        finally:
            process.terminate()
