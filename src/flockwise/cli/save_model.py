"""save-model: a trained model of a run, for other programs."""

from pathlib import Path

import click

from flockwise.cli.model_options import found_model, of_a_model


@click.command("save-model")
@of_a_model
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), required=True,
              help="The file: .safetensors, .pt (TorchScript) or .onnx.")  # fmt: skip
def save_model(run: Path, flock: int | None, client: str | None, at: int | None, out: Path) -> None:
    """Write a model of RUN, a flock's or a client's, with a card beside it that says what it is."""
    found, which = found_model(run, flock, client)
    written = found.save_model(out, at=at, **which)
    for file in (
        written,
        *(written.with_name(f"{written.name}.card{ending}") for ending in (".md", ".json")),
    ):
        click.echo(file)
