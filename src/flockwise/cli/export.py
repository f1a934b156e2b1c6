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
@click.option("--uri", help="With --to mlflow: a tracking server, such as http://tracking:5000.")
def export(run: Path, to: str, out: Path | None, uri: str | None) -> None:
    """Write the numbers of RUN for other tools."""
    from flockwise.export import export_run

    written = export_run(run, to, out or run / f"export-{to}", uri)
    for file in written if uri is None else [uri]:
        click.echo(file)
