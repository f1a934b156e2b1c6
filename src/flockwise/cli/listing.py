"""list: every piece by name, with one line each."""

import json
from collections.abc import Mapping

import click

KINDS = (
    "strategies",
    "aggregators",
    "pre-aggregations",
    "attacks",
    "splits",
    "datasets",
    "models",
    "similarities",
    "clusterers",
)


@click.command("list")
@click.argument("kind", type=click.Choice(KINDS))
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def list_pieces(kind: str, as_json: bool) -> None:
    """List the pieces of a KIND, built in or from installed plug-ins."""
    rows = {**summaries(kind), **_plugged_in(kind)}
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    width = max(map(len, rows))
    for name, summary in rows.items():
        click.echo(f"{name.ljust(width)}  {summary}")


def summaries(kind: str) -> dict[str, str]:
    """Name and one line of each built-in piece."""
    if kind == "strategies":
        from flockwise.strategies import STRATEGIES as pieces
    elif kind == "aggregators":
        from flockwise.aggregation import RULES as pieces  # type: ignore[assignment]
    elif kind == "pre-aggregations":
        from flockwise.aggregation import PRE_AGGREGATIONS as pieces  # type: ignore[assignment]
    elif kind == "attacks":
        from flockwise.attacks import ATTACKS as pieces  # type: ignore[assignment]
    elif kind == "splits":
        from flockwise.splits import SPLITS as pieces  # type: ignore[assignment]
    elif kind == "datasets":
        from flockwise.data import DATASETS as pieces  # type: ignore[assignment]
    elif kind == "models":
        from flockwise.models import MODELS as pieces  # type: ignore[assignment]
    elif kind == "clusterers":
        from flockwise.clustering import CLUSTERERS as pieces  # type: ignore[assignment]
    else:
        from flockwise.pieces.measures import SUMMARIES

        return dict(SUMMARIES)
    found: Mapping[str, object] = pieces
    return {name: str(getattr(piece, "summary", "")) for name, piece in found.items()}


def _plugged_in(kind: str) -> dict[str, str]:
    from importlib.metadata import entry_points

    return {point.name: f"plug-in: {point.value}" for point in entry_points(group=f"flockwise.{kind}")}
