"""demo: two small runs on the embedded digits."""

from pathlib import Path
from typing import Any

import click

from flockwise.cli.options import OUT, while_training
from flockwise.cli.progress import follow

DEMO: dict[str, Any] = {
    "name": "demo",
    "seed": 1,
    "rounds": 40,
    "data": {"name": "digits"},
    "split": {"name": "label_swap", "clients": 20, "groups": 4},
    "model": {"name": "mlp"},
    "training": {"epochs": 3, "batch_size": 10, "learning_rate": 0.1},
    "sampling": {"fraction": 0.5},
    "strategy": {"name": "flic", "warmup": "auto"},
}

DEMO_ATTACK: dict[str, Any] = {
    **DEMO,
    "name": "demo-attack",
    "split": {"name": "iid", "clients": 20},
    "strategy": {"name": "flic", "warmup": "auto", "judge": "validation", "rollback": True},
    "attack": {"name": "reverse", "clients": 8},
}


@click.command()
@click.option("--attack", is_flag=True, help="8 of the 20 clients are wolves that send reversed updates.")
@OUT
@while_training
def demo(attack: bool, out: Path | None, data: Path | None, as_json: bool, quiet: bool) -> None:
    """Train a small clustered federation on the embedded digits and write its report.

    Clients come in flocks that swap the names of two digits, so one model cannot suit all. FLIC trains one
    model, finds the flocks from the updates alone, and gives each flock its own. With --attack, clients are
    alike but 8 of the 20 are wolves: FLIC sets them apart.
    """
    import flockwise

    config = DEMO_ATTACK if attack else DEMO
    done = follow(flockwise.run, config, out=out, data=data, as_json=as_json, quiet=quiet)
    report = done.report()
    if not (as_json or quiet):
        click.echo(f"report: {report}")
