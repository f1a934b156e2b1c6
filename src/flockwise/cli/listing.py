"""list: every piece by name, with one line each."""

import inspect
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

# arguments that are not parameters
_CALLED = {"aggregators": 1, "pre-aggregations": 1, "attacks": 0, "splits": 1, "clusterers": 1}
# given by the run, or by other fields of the config
_GIVEN = {"weights", "f", "root", "seed", "clients", "validation", "points", "start"}


@click.command("list")
@click.argument("kind", type=click.Choice(KINDS))
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def list_pieces(kind: str, as_json: bool) -> None:
    """List the pieces of a KIND, built in or from installed plug-ins; below each, its parameters."""
    rows = {**summaries(kind), **_plugged_in(kind)}
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    width, takes = max(map(len, rows)), parameters(kind)
    for name, summary in rows.items():
        click.echo(f"{name.ljust(width)}  {summary}")
        if name in takes:
            click.echo(f"{' ' * width}    {takes[name]}")


def summaries(kind: str) -> dict[str, str]:
    """Name and one line of each built-in piece."""
    return {name: str(getattr(piece, "summary", piece)) for name, piece in _pieces(kind).items()}


def parameters(kind: str) -> dict[str, str]:
    """Name and parameters of each built-in piece that takes some, as a config may give them."""
    if kind not in _CALLED:
        return {}
    found = {}
    for name, piece in _pieces(kind).items():
        function = getattr(piece, "function", None) or getattr(piece, "factory", None)
        told = list(inspect.signature(function).parameters.values())[_CALLED[kind] :]  # type: ignore[arg-type]
        if mine := [_told(parameter) for parameter in told if parameter.name not in _GIVEN]:
            found[name] = ", ".join(mine)
    return found


def _told(parameter: inspect.Parameter) -> str:
    default = parameter.default
    if default is parameter.empty:
        return f"{parameter.name} (needed)"
    return parameter.name if default is None else f"{parameter.name} = {json.dumps(default, default=str)}"


def _pieces(kind: str) -> Mapping[str, object]:
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
        from flockwise.pieces.measures import SUMMARIES as pieces  # type: ignore[assignment]
    return pieces


def _plugged_in(kind: str) -> dict[str, str]:
    from importlib.metadata import entry_points

    return {point.name: f"plug-in: {point.value}" for point in entry_points(group=f"flockwise.{kind}")}
