"""export: a run's numbers for other tools."""

from pathlib import Path

import click

from flockwise.cli.options import FOLDER, RUN


@click.command()
@RUN
@click.option(
    "--to", type=click.Choice(["csv", "jsonl", "parquet", "tensorboard", "mlflow"]), default="csv",
    show_default=True,
)  # fmt: skip
@click.option("--out", type=FOLDER, help="The folder to write into.")
def export(run: Path, to: str, out: Path | None) -> None:
    """Write the numbers of RUN for other tools."""
    from flockwise.export import export_run

    for file in export_run(run, to, out or run / f"export-{to}"):
        click.echo(file)
