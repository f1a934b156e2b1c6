"""How models are compared: one number, the score, with its name, its direction and its bounds.

Clients tell scores as the task names them, an error as an error. Whoever compares asks here which is better, so that
accuracy and error go through the same stages.
"""

import json
import math
from dataclasses import dataclass
from typing import Literal

from flockwise.errors import InputError

Better = Literal["higher", "lower"]
LARGEST = 1e30  # no score is told above it: a model that has diverged counts as this bad
_ALIKE = 0.02  # scores between 0 and 1 that are no further apart count as equal where that is asked


@dataclass(frozen=True)
class Scoring:
    """What a score is: its name, which of two is better, and between which bounds it lies."""

    name: str = "accuracy"
    better: Better = "higher"
    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        if self.better not in ("higher", "lower"):
            raise InputError(f"better = {self.better!r}: must be higher or lower")
        if not self.low < self.high:
            raise InputError(f"low = {self.low}, high = {self.high}: low must be below high")

    @property
    def share(self) -> bool:
        """Whether it lies between two bounds, as accuracy does."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def worst(self) -> float:
        """What a model gets that makes no sense: the bound at the bad end, or a number that nobody reaches."""
        end = self.low if self.better == "higher" else self.high
        return max(min(end, LARGEST), -LARGEST)

    @property
    def perfect(self) -> float:
        """What no model gets more than: the bound at the good end, or a number that nobody reaches."""
        return max(min(self._good_end, LARGEST), -LARGEST)

    def fault(self, value: object) -> str | None:
        """Why this cannot be a score; None if it can. NaN is one: nothing to measure on."""
        low, high = max(self.low, -LARGEST), min(self.high, LARGEST)
        if isinstance(value, float) and (low <= value <= high or math.isnan(value)):
            return None
        return f"{self.name} = {value!s:.20}: must lie between {low:g} and {high:g}"

    def quality(self, score: float) -> float:
        """A number that is larger for a better score."""
        return score if self.better == "higher" else -score

    def best(self, scores: list[float]) -> float:
        """The best of several."""
        return (max if self.better == "higher" else min)(scores)

    def coarse(self, score: float) -> float:
        """As `quality`, but two scores within two points, or of errors within two per cent, count as equal."""
        if self.share:
            return float(round(self.quality(score) / _ALIKE))
        missing = abs(score - self._good_end)
        return (
            -float(round(math.log(max(missing, 1e-12)) / _ALIKE))
            if math.isfinite(missing)
            else self.quality(score)
        )

    @property
    def _good_end(self) -> float:
        """What no score is better than."""
        return self.low if self.better == "lower" else self.high

    def gain(self, here: float, there: float) -> float:
        """How much better it is there: in points, or where scores have no scale, as a share of what is missing here."""
        missing = abs(here - self._good_end)
        if self.share or not math.isfinite(missing):
            return self.quality(there) - self.quality(here)
        return (missing - abs(there - self._good_end)) / missing if missing else 0.0

    def falls_short(self, own: float, best: float, ratio: float) -> bool:
        """Whether `own` is bad beside the best: below `ratio` of it, or for an error, above it by as much."""
        if self.better == "higher" and math.isfinite(self.low):
            return own - self.low < ratio * (best - self.low)
        if not math.isfinite(self._good_end):
            return False  # without an end there is no share of anything
        return ratio * abs(own - self._good_end) > abs(best - self._good_end)

    @property
    def plural(self) -> str:
        """Several of them."""
        return f"{self.name[:-1]}ies" if self.name.endswith("y") else f"{self.name}s"

    def written(self) -> str:
        """As a run's record has it; a bound that is not there is null."""
        bounds = [bound if math.isfinite(bound) else None for bound in (self.low, self.high)]
        return json.dumps([self.name, self.better, *bounds])


ACCURACY = Scoring()


def read_scoring(text: str) -> Scoring:
    """What `Scoring.written` wrote; accuracy where nothing sensible is written."""
    try:
        name, better, low, high = json.loads(text)
        bounds = [-math.inf if low is None else float(low), math.inf if high is None else float(high)]
        return Scoring(str(name)[:40], better, *bounds)
    except (ValueError, TypeError, InputError, RecursionError):
        return ACCURACY
