"""predict: let a trained model of a run say what it makes of new samples."""

from pathlib import Path

import click

from flockwise.cli.model_options import found_model, of_a_model


@click.command()
@of_a_model
@click.option("--data", "file", type=click.Path(path_type=Path, dir_okay=False), required=True,
              help="Samples: .csv or .parquet with the columns trained on, or .npy.")  # fmt: skip
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), help="The CSV file to write (default: print)."
)
def predict(
    run: Path, flock: int | None, client: str | None, at: int | None, file: Path, out: Path | None
) -> None:
    """Let a model of RUN predict from a file: a flock's, a client's, or (without either) the one most clients have."""
    import sys

    from flockwise.errors import InputError
    from flockwise.export.text_files import as_csv, write_table
    from flockwise.runs.predicting import read_samples
    from flockwise.runs.sample_shape import samples_on_record

    found, which = found_model(run, flock, client)
    told = samples_on_record(found)
    if told is None:
        raise InputError(f"{run}: does not say what its samples are like; it was made by an older release")
    columns = found.predict(read_samples(file, told), at=at, **which).columns()
    if out is None:
        sys.stdout.write(as_csv(columns))
    else:
        click.echo(write_table(out, columns))
