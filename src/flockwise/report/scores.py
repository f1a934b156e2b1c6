"""What a run's models are compared by, as the page needs to know it."""

from typing import Any

import numpy as np

from flockwise.numbers import number_of
from flockwise.scoring import Scoring


def described_score(scoring: Scoring) -> dict[str, Any]:
    """Name, title, direction, and whether it lies between 0 and 1."""
    title = number_of(scoring.name).title
    return {"name": scoring.name, "title": title, "better": scoring.better, "share": scoring.share}


def score_range(scoring: Scoring, values: np.ndarray) -> tuple[float, float]:
    """Between which numbers scores are drawn: their bounds, or what was seen of those that have none."""
    if scoring.share:
        return scoring.low, scoring.high
    seen = values[np.isfinite(values) & (np.abs(values) < 1e29)]
    low, high = (float(seen.min()), float(seen.max())) if len(seen) else (0.0, 1.0)
    return low, high if high > low else low + 1.0
