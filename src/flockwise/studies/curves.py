"""Curves over seeds: at each round the mean of those that were measured with every seed, and its interval."""

from flockwise.pictures.bands import Curve
from flockwise.studies.results import Result
from flockwise.studies.showing import row_name
from flockwise.studies.statistics import mean_and_half_width
from flockwise.studies.table import StudyTable


def curves_in(table: StudyTable) -> dict[int, list[Curve]]:
    """The curves of the first number in each setting (a column's place), a row each; empty where none was kept."""
    spec = table.columns[0].spec
    factor = 100.0 if spec.percent else 1.0
    found: dict[int, list[Curve]] = {}
    for place in table.settings:
        setting = dict(zip(table.column_axes, table.columns[place].labels, strict=True))
        found[place] = []
        for row in table.rows:
            wanted = {**setting, **dict(zip(table.row_axes, row, strict=True))}
            mine = [result for labels, result in table.labelled if labels == wanted]
            curve = _mean(row_name(row), [by_round(result, spec.of) for result in mine], factor)
            found[place] += [curve] if curve.x else []
    return found


def by_round(result: Result, name: str) -> dict[int, float]:
    """A number's value at each round at which it was measured."""
    curve = result.curves.get(name, [])
    rounds = result.rounds or range(1, len(curve) + 1)
    return {
        at: value for at, value in zip(rounds, curve, strict=False) if value is not None and value == value
    }


def _mean(name: str, seeds: list[dict[int, float]], factor: float) -> Curve:
    known = [seed for seed in seeds if seed]
    common = sorted(set.intersection(*(set(seed) for seed in known))) if known else []
    summaries = [mean_and_half_width([seed[at] * factor for seed in known]) for at in common]
    return Curve(name, common, [mean for mean, _ in summaries], [half for _, half in summaries])
