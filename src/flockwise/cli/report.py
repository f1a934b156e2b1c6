"""report: one page about a run, or about several side by side."""

from pathlib import Path

import click


@click.command()
@click.argument("run_paths", metavar="RUN...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="The file to write.")
def report(run_paths: tuple[Path, ...], out: Path | None) -> None:
    """Write one self-contained HTML page about RUN, or a comparison of several."""
    from flockwise.report import write_report

    click.echo(write_report(list(run_paths), out))
