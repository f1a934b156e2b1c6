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
def serve(folder: Path, host: str, port: int, open_browser: bool) -> None:
    """Show the runs in FOLDER in a browser, and follow the ones that go on.

    It reads run directories and starts nothing. Releasing or confirming a client that was set apart needs the
    token that is printed here.
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
    serve_runs(folder, host, port, open_browser=open_browser)


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
