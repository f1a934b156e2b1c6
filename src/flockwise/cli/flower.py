"""flower: a Flower deployment on this machine for trying, and a supervisor for runs on any."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from flockwise.cli.options import DATA, FOLDER
from flockwise.terminal import printable

if TYPE_CHECKING:
    from flockwise.store import Run

_folder = click.option(
    "--folder", type=FOLDER, default=Path("flower-deployment"),
    show_default=True, help="Where certificates, keys, logs and Flower's state lie.",
)  # fmt: skip


@click.group()
def flower() -> None:
    """Run on Flower: try a deployment on this machine, keep runs going on any."""


@flower.command()
@click.option(
    "--nodes", type=click.IntRange(min=1), default=2, show_default=True, help="How many SuperNodes."
)
@DATA
@_folder
def up(nodes: int, data: Path | None, folder: Path) -> None:
    """Start a SuperLink and SuperNodes on 127.0.0.1, with fresh TLS certificates, and node keys that are kept.

    Only registered keys may join. Anyone on this machine who can reach the port may submit code, as Flower
    has no account check by default: use it for trying, and see docs/flower.md for production.
    """
    _deployment(folder, nodes, data)
    home = (folder / "flwr").absolute()
    click.echo(f"up: {nodes} SuperNodes are online (logs in {folder / 'logs'})")
    click.echo(f"use it:   export FLWR_HOME={home}")
    click.echo("          flockwise run my.toml --engine flower --superlink local")
    click.echo("          flwr run path/to/your-app local --stream")
    click.echo(f"stop it:  flockwise flower down --folder {folder}")


@flower.command()
@_folder
def down(folder: Path) -> None:
    """Stop what `up` started."""
    from flockwise.flower.deployment import Deployment

    stopped = Deployment(folder).down()
    click.echo(f"down: {stopped} processes stopped" if stopped else "down: nothing was running")


@flower.command()
@click.argument("folder", type=FOLDER)
@click.option(
    "--name", "names", multiple=True, required=True, help="A name or address by which nodes reach the server."
)
@click.option(
    "--days", type=click.IntRange(min=1), default=365, show_default=True, help="How long they hold."
)
def certificates(folder: Path, names: tuple[str, ...], days: int) -> None:
    """Make an authority of your own and a certificate of the server in FOLDER, for TLS between nodes and server.

    ca.crt goes to every node; server.pem and server.key stay on the server. The authority's key is thrown away, so
    nobody can make another certificate that your nodes believe: when it runs out, make and hand out all anew.
    """
    _certificates(folder, names, days)
    click.echo(
        f"ca.crt, server.pem and server.key in {folder}, for {', '.join(names)}; they hold {days} days"
    )


@flower.command()
@click.argument("app", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("superlink")
@click.option("--run", "run_path", type=click.Path(path_type=Path), required=True,
              help="The directory that Flocks(run=...) of the app writes.")  # fmt: skip
@click.option("--run-config", default="", help="Passed on to `flwr run`.")
@click.option("--restarts", type=click.IntRange(min=0), default=5, show_default=True)
def supervise(app: Path, superlink: str, run_path: Path, run_config: str, restarts: int) -> None:
    """Submit APP to SUPERLINK and submit it again whenever its ServerApp dies, until its run is over."""
    from flockwise.flower.supervisor import supervise as keep_going

    found = keep_going(app, superlink, run_path, restarts=restarts, run_config=run_config, say=click.echo)
    click.echo(f"{_told(found)}; run: {found.path}")
    if found.state != "finished":
        raise SystemExit(1)


def submit_config(config: Path, out: Path | None, overrides: tuple[str, ...]) -> None:
    """Run a config on the SuperLink it names, and see it through."""
    import tempfile

    from flockwise.config import load_config
    from flockwise.flower.config_app import write_app
    from flockwise.flower.supervisor import supervise as keep_going
    from flockwise.runs.provenance import new_run_path

    checked = load_config(config, overrides)
    path = (out or new_run_path(checked)).absolute()
    with tempfile.TemporaryDirectory(prefix="flockwise-app-") as folder:
        write_app(Path(folder) / "app", checked, path, config.parent)
        superlink = str(checked.engine.superlink)
        found = keep_going(Path(folder) / "app", superlink, path, say=lambda line: click.echo(line, err=True))
    click.echo(_told(found))
    click.echo(f"run: {found.path}")
    if found.state != "finished":
        raise SystemExit(1)


def _told(run: "Run") -> str:
    why = run.about.get("error", "") if run.state != "finished" else ""
    return f"{run.state}: {len(run.rounds)} rounds" + (f"; {printable(why)}" if why else "")


def _certificates(folder: Path, names: tuple[str, ...], days: int) -> None:
    from flockwise.errors import EngineError, InputError

    try:
        from flockwise.flower.certificates import make_certificates
    except ModuleNotFoundError as error:
        raise EngineError('Flower is not installed; pip install "flockwise[flower]"') from error
    there = [name for name in ("ca.crt", "server.pem", "server.key") if (folder / name).exists()]
    if there:
        raise InputError(
            f"{folder}: {', '.join(there)} would be overwritten; choose another folder, or move it away"
        )
    folder.mkdir(parents=True, mode=0o700, exist_ok=True)
    try:
        make_certificates(folder, names, days)
    except (ValueError, OverflowError) as error:
        raise InputError(f"--name {' '.join(names)}, --days {days}: {error}") from error


def _deployment(folder: Path, nodes: int, data: Path | None) -> None:
    try:
        from flockwise.flower.deployment import Deployment
    except ModuleNotFoundError as error:
        from flockwise.errors import EngineError

        raise EngineError('Flower is not installed; pip install "flockwise[flower]"') from error
    Deployment(folder).up(nodes, data.absolute() if data else None)
