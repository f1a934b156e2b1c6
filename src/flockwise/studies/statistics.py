"""What seeds can tell: a mean with its interval, and which of several methods may be the best one.

Two methods are compared by a paired t test over the seeds they have in common: the same seed is the same data, clients and
first model, so what both share cancels out. An exact test that permutes signs could tell nothing with the three seeds that
people use (its smallest one-sided result is 1/8, with five 1/32); the t test pays for that with the assumption that the
differences are about normal. Against several others the level is shared out (Bonferroni), so that the truly best method of
a column is left without a mark at most once in twenty columns, whichever it is.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from scipy.special import stdtr, stdtrit

Better = Literal["higher", "lower", "neither"]
Mark = Literal["best", "tied", ""]
BySeed = Mapping[int, float]
LEVEL = 0.05
ENOUGH = 3  # seeds below which nothing that was published is judged
_ROUNDING = 1e-12  # differences below this share of the values are those of binary fractions


def mean_and_half_width(values: Sequence[float]) -> tuple[float, float | None]:
    """The mean and half of its 95 % interval (Student's t); one value has no interval."""
    if not values:
        return math.nan, None
    mean = math.fsum(values) / len(values)
    if len(values) < 2:
        return mean, None
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))
    quantile = float(stdtrit(len(values) - 1, 1 - LEVEL / 2))
    return mean, quantile * spread / math.sqrt(len(values))


def chance_of_no_gain(better: BySeed, worse: BySeed) -> float | None:
    """One-sided p of a paired t test that the first is no higher than the second; None below two common seeds."""
    seeds = sorted(better.keys() & worse.keys())
    if len(seeds) < 2:
        return None
    first = np.array([better[seed] for seed in seeds])
    second = np.array([worse[seed] for seed in seeds])
    rounding = _ROUNDING * max(1.0, float(np.abs([first, second]).max()))
    gains = first - second
    mean, spread = float(gains.mean()), float(gains.std(ddof=1))
    if spread <= rounding:  # the same difference with every seed
        return 1.0 if mean <= rounding else 0.0
    return float(1.0 - stdtr(len(seeds) - 1, mean / (spread / math.sqrt(len(seeds)))))


def marks(rows: Sequence[BySeed | None], better: Better) -> list[Mark]:
    """The best row by its mean, and those that are not distinguishable from it; None: not to be compared.

    A row with one seed cannot be compared, and alone nobody is the best.
    """
    none: list[Mark] = [""] * len(rows)
    compared = {
        place: row if better == "higher" else {seed: -value for seed, value in row.items()}
        for place, row in enumerate(rows)
        if row is not None and len(row) >= 2
    }
    if better == "neither" or len(compared) < 2:
        return none
    means = {place: mean_and_half_width(list(row.values()))[0] for place, row in compared.items()}
    top = max(means.values())
    best = [place for place, mean in means.items() if mean >= top - _ROUNDING * max(1.0, abs(top))]
    level = LEVEL / (len(compared) - 1)
    for place, row in compared.items():
        chances = [chance_of_no_gain(compared[one], row) for one in best]
        if place in best:
            none[place] = "best"
        elif any(chance is not None and chance > level for chance in chances):
            none[place] = "tied"
    return none


def worst_by_seed(columns: Sequence[BySeed], better: Better) -> dict[int, float]:
    """The worst of several settings, seed by seed; a seed that lacks one of them has no worst."""
    common = set.intersection(*(set(column) for column in columns)) if columns else set()
    pick = max if better == "lower" else min
    return {seed: pick(column[seed] for column in columns) for seed in sorted(common)}
