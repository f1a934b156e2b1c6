"""new: a commented config to start from."""

import json

import click


@click.command()
@click.argument("strategy", default="shepherd")
@click.option("--schema", is_flag=True, help="Print the JSON schema of a config instead, for editors.")
def new(strategy: str, schema: bool) -> None:
    """Write a commented config for STRATEGY to standard output, or a commented study (flockwise new study).

    Without a name it is `shepherd`, the method for when nothing is known of the clients (docs/which-method.md).
    """
    if schema:
        from flockwise.config import schema as json_schema

        click.echo(json.dumps(json_schema(), indent=2))
        return
    if strategy == "study":
        from flockwise.studies.template import TEMPLATE

        click.echo(TEMPLATE, nl=False)
        return
    from flockwise.cli.pieces import find_piece, known_name
    from flockwise.config.template import template

    find_piece("strategies", strategy)  # a mistake in the name is told here
    click.echo(template(known_name("strategies", strategy)), nl=False)
