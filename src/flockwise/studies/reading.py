"""The numbers of a result: read from its curves and values, so that another statistic needs no other run."""

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from flockwise.errors import ConfigError
from flockwise.numbers import NUMBERS, number_of
from flockwise.plugins import nearest
from flockwise.studies.cells import Cell
from flockwise.studies.file import NumberSpec, Table
from flockwise.studies.finished import Finished, curve_at, own_reader, statistic
from flockwise.studies.results import Result

CURVES = (
    "accuracy", "accuracy_taking_part", "accuracy_worst", "accuracy_worst_group", "test_loss", "flocks", "ari",
    "purity", "silhouette", "apart", "false_alarms", "missed", "attack_success", "bytes",
)  # fmt: skip


def specs_of(table: Table) -> dict[str, NumberSpec]:
    """The numbers that a table shows, each with how it is read."""
    specs = {name: table.numbers.get(name) or NumberSpec(of=name) for name in table.show.numbers}
    return {name: _titled(name, spec) for name, spec in specs.items()}


def _titled(name: str, spec: NumberSpec) -> NumberSpec:
    """A function of a user's has no title of its own: it goes by the name that the file gives it."""
    unnamed = ":" in spec.of and ":" not in name and not spec.title
    return spec.model_copy(update={"title": name.replace("_", " ")}) if unnamed else spec


def check_numbers(table: Table) -> None:
    """A number that nobody knows is told before anything runs."""
    for name, spec in specs_of(table).items():
        known = number_of(spec.of).meaning or spec.of in table.curves or ":" in spec.of or table.compute
        if not known:
            raise ConfigError(f"show.numbers = {name!r}: unknown number; {nearest(spec.of, list(NUMBERS))}")
        if spec.of in ("rounds_to_target", "clients_at_target") and spec.target is None:
            raise ConfigError(f"numbers.{name}.target: is needed by {spec.of}, such as 0.9")


def value_of(result: Result, name: str, spec: NumberSpec, cell: Cell) -> float:
    """A number of a result; NaN if it was not measured."""
    if result.error:
        return math.nan
    if name in result.values:  # measured while the run was at hand
        value = result.values[name]
        found = math.nan if value is None else float(value)
    else:
        found = _from_curves(result, spec, cell)
        found *= 100.0 if spec.percent else 1.0
    return found


def _from_curves(result: Result, spec: NumberSpec, cell: Cell) -> float:
    if spec.of == "rounds_to_target":
        numbered = list(result.rounds) or list(range(1, len(result.curves.get("accuracy", [])) + 1))
        reached = (
            round
            for round, value in zip(numbered, result.curves.get("accuracy", []), strict=False)
            if value is not None and spec.target is not None and value >= spec.target
        )
        return float(next(reached, math.nan))
    if not _has_rounds(spec, cell):
        return math.nan
    curve = result.curves.get(spec.of)
    if curve is None:
        value = result.values.get(spec.of)
        return math.nan if value is None else float(value)
    if spec.over is None and spec.last is None:
        return curve_at(result.curves, result.rounds, spec.of, cell.round(spec.at))
    numbered = list(result.rounds) or list(range(1, len(curve) + 1))
    if spec.over is not None:
        first, last = (cell.round(one) or 1 for one in spec.over)
    else:
        first, last = numbered[-1] - (spec.last or 1) + 1, numbered[-1]
    inside = [value for round, value in zip(numbered, curve, strict=False) if first <= round <= last]
    return statistic(inside, spec.statistic, spec.direction)


def _has_rounds(spec: NumberSpec, cell: Cell) -> bool:
    """Whether the cell has the rounds that the number is of: a method without a warm-up has no last round of it."""
    try:
        return bool([cell.round(of) for of in (spec.at, *(spec.over or ()))])
    except ConfigError:
        return False


def measured(finished: Finished, cell: Cell, directory: Path | None) -> dict[str, float | None]:
    """The numbers that need the run itself: models, clients, a study's own readers."""
    found: dict[str, float | None] = {}
    for name, spec in specs_of(cell.spec).items():
        if ":" in spec.of:
            value = float(own_reader(spec.of, directory)(finished))
        elif spec.of == "official_accuracy":
            value = finished.official_accuracy()
        elif spec.of == "clients_at_target":
            value = finished.at_target(spec.target or 0.0, cell.round(spec.at))
        else:
            continue
        value *= 100.0 if spec.percent else 1.0
        found[name] = round(value, 5) if math.isfinite(value) else None
    sent = finished.run.facts.get("bytes")
    found["bytes_sent"] = None if sent is None else float(np.nansum(sent))
    merged = finished.pairs_merged()
    found["pairs_merged"] = round(merged, 5) if math.isfinite(merged) else None
    found["seconds"] = round(float(finished.run.seconds.sum()), 3)
    for who, name in (("clients", "client_seconds"), ("server", "server_seconds")):
        if who in finished.run.times:
            found[name] = round(float(np.nansum(finished.run.times[who])), 3)
    return found


def kept_curves(finished: Finished, cell: Cell) -> Mapping[str, list[float | None]]:
    """The numbers that a result keeps round by round."""
    shown = (spec.of for spec in specs_of(cell.spec).values() if spec.of in finished.run.facts)
    kept = (finished.run.scoring.name, *CURVES, *cell.spec.curves, *shown)
    curves = {name: finished.curve(name) for name in dict.fromkeys(kept)}
    return {name: curve for name, curve in curves.items() if any(value is not None for value in curve)}
