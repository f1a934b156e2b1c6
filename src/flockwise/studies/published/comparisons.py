"""Comparisons of measured numbers: `left relation right`, for all (any, most) of what `over` lists.

With several seeds one is settled by the interval of the difference (paired over common seeds), and only if no seed by
itself says the opposite; with one seed it is only told which way it lies. A seed that was run and has no such number (a
round that never came) cannot be left out as if it had not been: nothing holds then.
"""

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from flockwise.config.sections import Section
from flockwise.studies.published.bars import Of
from flockwise.studies.published.measured import Numbers
from flockwise.studies.statistics import mean_and_half_width

HOLDS, FAILS, UNSURE = "holds", "fails", "unsure"
PARTLY, PARTLY_NOT = "holds as far as it was run", "fails as far as it was run"
_TINY = 1e-9


class Comparison(Section):
    """left relation right: names in braces are those of `over`."""

    left: Of
    relation: Literal["<", "<=", ">", ">=", "==", "about"] = ">"
    right: Of | float
    times: float = Field(1.0, description="right is taken so many times")
    margin: float = Field(
        0.0, ge=0, description="how much may be missing; for == and about: how far apart they may be"
    )
    over: dict[str, list[str]] = Field(default_factory=dict)
    how: Literal["all", "any", "most"] = "all"


@dataclass(frozen=True)
class Instance:
    """One comparison with its names filled in: holds, fails, unsure, or None where it was not measured."""

    words: str
    state: str | None
    seeds: int
    left: float = math.nan
    right: float = math.nan  # times and all
    relation: str = ""
    cell: str = ""


def instances_of(test: Comparison, measured: Numbers) -> list[Instance]:
    """A comparison with every filling of its names."""
    return [_instance(test, names, measured) for names in _fillings(test)]


def together(states: list[str | None], how: str) -> str | None:
    """What several comparisons come to; what was not run can still turn them, unless one already decides."""
    good, bad, all_of_them = states.count(HOLDS), states.count(FAILS), len(states)
    if how == "all" and (bad or good == all_of_them):
        return FAILS if bad else HOLDS
    if how == "any" and (good or bad == all_of_them):
        return HOLDS if good else FAILS
    if how == "most" and (2 * good > all_of_them or 2 * bad >= all_of_them):
        return HOLDS if 2 * good > all_of_them else FAILS
    if UNSURE in states or (None not in states):
        return UNSURE
    return PARTLY if good else PARTLY_NOT if bad else None


def _fillings(test: Comparison) -> Iterator[Mapping[str, str]]:
    for chosen in itertools.product(*test.over.values()):
        yield dict(zip(test.over, chosen, strict=True))


def _instance(test: Comparison, names: Mapping[str, str], measured: Numbers) -> Instance:
    left = _values(test.left, names, measured)
    right = (
        dict.fromkeys(left, test.right)
        if isinstance(test.right, float)
        else _values(test.right, names, measured)
    )
    words = f"{_named(test.left, names)} {test.relation} {_factor(test)}{_named(test.right, names)}"
    silent = any(_silent(of, names, measured) for of in (test.left, test.right))
    common = sorted(left.keys() & right.keys())
    if not common:
        return Instance(words, UNSURE if silent else None, 0)
    differences = [left[seed] - test.times * right[seed] for seed in common]
    mean, width = mean_and_half_width(differences)
    ends = {_holds(mean + side * (width or 0.0), test) for side in (-1, 1)}
    ends |= {_holds(difference, test) for difference in differences}  # what a seed flips is not settled
    state = (HOLDS if True in ends else FAILS) if len(ends) == 1 else UNSURE
    if (
        test.relation == "about"
        and width
        and {mean - width < -test.margin, mean + width > test.margin} == {True}
    ):
        state = UNSURE  # the interval covers the whole margin
    if silent and state == HOLDS:
        state = UNSURE
    ours, theirs = (mean_and_half_width([values[seed] for seed in common])[0] for values in (left, right))
    cell = test.left.cell.format_map(names)
    return Instance(words, state, len(common), ours, test.times * theirs, test.relation, cell)


def _holds(difference: float, test: Comparison) -> bool:
    slack = test.margin + _TINY
    return {
        ">": difference > _TINY - test.margin, ">=": difference >= -slack,
        "<": difference < test.margin - _TINY, "<=": difference <= slack,
        "==": abs(difference) <= slack, "about": abs(difference) <= slack,
    }[test.relation]  # fmt: skip


def _values(of: Of, names: Mapping[str, str], measured: Numbers) -> dict[int, float]:
    return measured.values(*_filled(of, names))


def _silent(of: Of | float, names: Mapping[str, str], measured: Numbers) -> int:
    return 0 if isinstance(of, float) else measured.silent(*_filled(of, names))


def _filled(of: Of, names: Mapping[str, str]) -> tuple[str, str, str]:
    return of.table.format_map(names), of.cell.format_map(names), of.number.format_map(names)


def _named(of: Of | float, names: Mapping[str, str]) -> str:
    return f"{of:g}" if isinstance(of, float) else f"{of.cell}, {of.number}".format_map(names)


def _factor(test: Comparison) -> str:
    return "" if test.times == 1.0 else f"{test.times:g} x "
