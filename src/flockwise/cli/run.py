"""run: a config, to the end."""

import contextlib
from pathlib import Path

import click

from flockwise.cli.elsewhere import telling_others
from flockwise.cli.options import ADDRESS, OUT, overrides, while_training
from flockwise.cli.progress import follow


@click.command()
@click.argument("config", type=click.Path(path_type=Path))
@OUT
@overrides("Replace a field, e.g. training.epochs=5.")
@click.option("--engine", type=click.Choice(["local", "flower", "ray"]), help="Who trains (engine.name).")
@ADDRESS
@click.option("--superlink", help="With --engine flower: run on this SuperLink instead of a simulation.")
@click.option("--check", is_flag=True, help="Only check the config.")
@click.option("--serve", is_flag=True, help="Watch it live in a browser beside the run.")
@telling_others
@while_training
def run(
    config: Path, out: Path | None, overrides: tuple[str, ...], engine: str | None, address: str | None,
    superlink: str | None, check: bool, serve: bool, data: Path | None, as_json: bool, quiet: bool,
    on: tuple[tuple[str, str], ...], track: tuple[str, ...],
) -> None:  # fmt: skip
    """Run CONFIG, a TOML file (see `flockwise new`)."""
    from flockwise.config import load_config
    from flockwise.config.doubts import doubts

    overrides += (f"engine.name={engine}",) if engine else ()
    overrides += (f"engine.address={address}",) if address else ()
    overrides += (f"engine.superlink={superlink}",) if superlink else ()
    checked = load_config(config, overrides)
    for line in doubts(checked):
        click.echo(f"note: {line}", err=True)
    if check:
        click.echo(f"{config}: ok")
        return
    if checked.engine.name == "flower" and checked.engine.superlink is not None:
        from flockwise.cli.flower import submit_config

        _refuse_on_a_superlink("data", "as_json", "quiet", "serve", "on", "track")
        submit_config(config, out, overrides)
        return
    with contextlib.ExitStack() as stack:
        if serve:
            from flockwise.cli.serve import beside

            stack.enter_context(beside(out.parent if out else Path("runs")))
        import flockwise

        follow(
            flockwise.run,
            config,
            out=out,
            overrides=overrides,
            data=data,
            as_json=as_json,
            quiet=quiet,
            on=on,
            track=track,
        )


def _refuse_on_a_superlink(*options: str) -> None:
    typed = click.core.ParameterSource.COMMANDLINE  # FLOCKWISE_DATA is for all runs
    for option in options:
        if click.get_current_context().get_parameter_source(option) is typed:
            name = option.removeprefix("as_")
            raise click.UsageError(f"--{name} has no meaning on a SuperLink, where nodes do the work")
