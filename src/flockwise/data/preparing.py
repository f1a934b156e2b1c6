"""Features of tables made fit for training: gaps filled with the column's mean, columns brought to mean 0 and spread 1.

Fitted from what clients could send without a row of theirs: of each column how many values their training rows have and
the sum of them, then the sum of squared distances from everybody's mean. Validation and test rows are not counted.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flockwise.data.federation import Federation
from flockwise.errors import InputError

Numbers = NDArray[Any]


@dataclass(frozen=True)
class Preparation:
    """What is done to the features of a table; `fitted` has mean and spread of each column, once they are known."""

    impute: bool = False
    standardise: bool = False
    fitted: tuple[tuple[float, float], ...] = ()

    def of(self, x: Numbers) -> Numbers:
        """Samples as models see them."""
        if x.shape[1:] != (len(self.fitted),):
            raise InputError(
                f"fitted = {len(self.fitted)} columns: must be as many as there are, {x.shape[1:]}"
            )
        mean, spread = np.array(self.fitted, dtype=np.float64).reshape(-1, 2).T
        seen = np.asarray(x, dtype=np.float64)
        if self.impute:
            seen = np.where(np.isnan(seen), mean, seen)
        if self.standardise:
            seen = (seen - mean) / spread
        return seen.astype(np.float32)


def preparation(
    impute: bool, standardise: bool, fitted: Sequence[Sequence[float]] | None
) -> Preparation | None:
    """What a config asks for, checked; None if it asks for nothing."""
    if not impute and not standardise:
        if fitted:
            raise InputError(
                "fitted: belongs to impute or standardise, which are not asked for; leave it out"
            )
        return None
    pairs = tuple((float(pair[0]), float(pair[1])) for pair in fitted or () if len(pair) == 2)
    if len(pairs) != len(fitted or ()) or not all(np.isfinite(pair).all() and pair[1] > 0 for pair in pairs):
        raise InputError("fitted: must be mean and spread of each column, numbers, the spread above 0")
    return Preparation(impute, standardise, pairs)


def prepared(federation: Federation) -> Federation:
    """The same clients with their features prepared as their data set asks for, fitted if it is not yet."""
    data = federation.dataset
    if data.prepare is None:
        return federation
    if data.x.ndim != 2 or data.tokens:
        raise InputError("impute, standardise: are for tables of numbers; leave them out")
    done = data.prepare if data.prepare.fitted else replace(data.prepare, fitted=_fit(federation))
    return replace(federation, dataset=replace(data, x=done.of(data.x), prepare=done))


def _fit(federation: Federation) -> tuple[tuple[float, float], ...]:
    data = federation.dataset
    count, total = _told(federation, np.zeros(data.x.shape[1]), power=1)
    mean = total / np.maximum(count, 1)
    _, squares = _told(federation, mean, power=2)
    spread = np.sqrt(squares / np.maximum(count, 1))
    # A column that is the same everywhere stays what it is, around zero.
    spread[spread <= 1e-12 * np.maximum(np.abs(mean), 1)] = 1.0
    return tuple(zip(mean.tolist(), spread.tolist(), strict=True))


def _told(federation: Federation, centre: NDArray[np.float64], power: int) -> tuple[Numbers, Numbers]:
    """How many values clients have of each column, and the sum of their distances from a centre to a power."""
    count, total = np.zeros(len(centre)), np.zeros(len(centre))
    for client in range(federation.clients):
        rows = np.asarray(federation.dataset.x[federation.indices(client, "train")], dtype=np.float64)
        known = np.isfinite(rows)
        count += known.sum(axis=0)
        total += (np.where(known, rows - centre, 0.0) ** power).sum(axis=0)
    return count, total
