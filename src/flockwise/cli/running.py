"""demo, run, resume and fork."""

import contextlib
from pathlib import Path
from typing import Any

import click

from flockwise.cli.progress import Watch, stop_on_signal

_common = [
    click.option("--data", type=click.Path(file_okay=False, path_type=Path), envvar="FLOCKWISE_DATA",
                 help="Where data sets lie (or FLOCKWISE_DATA)."),
    click.option("--json", "as_json", is_flag=True, help="One JSON object per round, for programs."),
    click.option("--quiet", "-q", is_flag=True, help="Only errors."),
]  # fmt: skip


def _options(command: Any) -> Any:
    for option in reversed(_common):
        command = option(command)
    return command


@click.command()
@click.option("--attack", is_flag=True, help="8 of the 20 clients are wolves that send reversed updates.")
@click.option("--out", type=click.Path(path_type=Path), help="The run directory.")
@_options
def demo(attack: bool, out: Path | None, data: Path | None, as_json: bool, quiet: bool) -> None:
    """Train a small clustered federation on the embedded digits and write its report.

    Clients come in flocks that swap the names of two digits, so one model cannot suit all. FLIC trains one
    model, finds the flocks from the updates alone, and gives each flock its own. With --attack, clients are
    alike but 8 of the 20 are wolves: FLIC sets them apart.
    """
    from flockwise.cli.demos import DEMO, DEMO_ATTACK

    _go(
        lambda **kw: _api().run(DEMO_ATTACK if attack else DEMO, out=out, data=data, **kw),
        as_json,
        quiet,
        report=True,
    )


@click.command()
@click.argument("config", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path), help="The run directory (default: a new one below runs/)."
)
@click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Replace a field, e.g. training.epochs=5."
)
@click.option("--engine", type=click.Choice(["local", "flower"]), help="Who trains (engine.name).")
@click.option("--superlink", help="With --engine flower: run on this SuperLink instead of a simulation.")
@click.option("--check", is_flag=True, help="Only check the config.")
@click.option("--serve", is_flag=True, help="Watch it live in a browser beside the run.")
@_options
def run(
    serve: bool,
    config: Path,
    out: Path | None,
    overrides: tuple[str, ...],
    engine: str | None,
    superlink: str | None,
    check: bool,
    data: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Run CONFIG, a TOML file (see `flockwise new`)."""
    overrides += (f"engine.name={engine}",) if engine else ()
    overrides += (f"engine.superlink={superlink}",) if superlink else ()
    if check:
        from flockwise.config import load_config

        load_config(config, overrides)
        click.echo(f"{config}: ok")
        return
    if _superlink(config, overrides):
        from flockwise.cli.flower import submit_config

        typed = click.core.ParameterSource.COMMANDLINE  # FLOCKWISE_DATA is for all runs
        for option in ("data", "as_json", "quiet", "serve"):
            if click.get_current_context().get_parameter_source(option) is typed:
                name = option.removeprefix("as_")
                raise click.UsageError(f"--{name} has no meaning on a SuperLink, where nodes do the work")
        submit_config(config, out, overrides)
        return
    with contextlib.ExitStack() as stack:
        if serve:
            from flockwise.cli.serving import beside

            stack.enter_context(beside(out.parent if out else Path("runs")))
        _go(lambda **kw: _api().run(config, out=out, overrides=overrides, data=data, **kw), as_json, quiet)


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--rounds", type=click.IntRange(min=1), help="Go on to this round instead of the config's.")
@click.option("--workers", type=click.IntRange(min=0), help="Worker processes; the result is the same.")
@_options
def resume(
    run: Path, rounds: int | None, workers: int | None, data: Path | None, as_json: bool, quiet: bool
) -> None:
    """Go on with RUN from its last checkpoint, to the same bits."""
    _go(lambda **kw: _api().resume(run, data=data, rounds=rounds, workers=workers, **kw), as_json, quiet)


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--at", type=click.IntRange(min=1), required=True, help="The round to start from.")
@click.option("--out", type=click.Path(path_type=Path), help="The new run directory.")
@click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="What is different from there on."
)
@_options
def fork(
    run: Path,
    at: int,
    out: Path | None,
    overrides: tuple[str, ...],
    data: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Start a new run from round AT of RUN, with another method, rule or training."""
    _go(lambda **kw: _api().fork(run, at, overrides, out=out, data=data, **kw), as_json, quiet)


def _superlink(config: Path, overrides: tuple[str, ...]) -> bool:
    from flockwise.config import load_config

    engine = load_config(config, overrides).engine
    return engine.name == "flower" and engine.superlink is not None


def _api() -> Any:
    import flockwise

    return flockwise


def _go(work: Any, as_json: bool, quiet: bool, report: bool = False) -> None:
    with stop_on_signal() as stop, Watch(as_json, quiet) as watch:
        finished = work(on_round=watch.round, stop=stop)
    if finished.state == "stopped":
        click.echo(
            f"stopped after round {int(finished.rounds[-1])}; go on with: flockwise resume {finished.path}",
            err=True,
        )
        raise click.exceptions.Exit(130)
    watch.summary(finished)
    if report:
        from flockwise.report import write_report

        click.echo(f"report: {write_report([finished.path])}")
