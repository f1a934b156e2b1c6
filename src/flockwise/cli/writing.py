"""new: a commented config to start from."""

import json

import click


@click.command()
@click.argument("strategy", default="flic")
@click.option("--schema", is_flag=True, help="Print the JSON schema of a config instead, for editors.")
def new(strategy: str, schema: bool) -> None:
    """Write a commented config for STRATEGY to standard output."""
    if schema:
        from flockwise.config import schema as json_schema

        click.echo(json.dumps(json_schema(), indent=2))
        return
    from flockwise.config.template import template

    click.echo(template(strategy), nl=False)
