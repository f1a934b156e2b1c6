"""A round's record under the names of its task: what is counted as accuracy is what the task compares models by."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from flockwise.engine import Evaluation
from flockwise.messages import RoundRecord
from flockwise.scoring import ACCURACY, Scoring

_OTHER_END = {"p10": "p90", "p90": "p10", "low": "high", "high": "low"}


def as_quality(tested: Evaluation, scoring: Scoring) -> Evaluation:
    """The evaluation with scores turned so that more is better, as whoever looks for the worst expects."""
    return tested if scoring.better == "higher" else tested._replace(score=-tested.score)


def named(
    record: RoundRecord, scoring: Scoring, tested: Evaluation | None, honest: np.ndarray
) -> RoundRecord:
    """The record with the score under its own name and sign, and the task's other metrics beside it."""
    if scoring.name == ACCURACY.name and not (tested and tested.others):
        return record
    sign = 1.0 if scoring.better == "higher" else -1.0
    facts = dict(_renamed(record.facts, scoring.name, sign))
    arrays = dict(record.arrays)
    if ACCURACY.name in arrays:
        arrays[scoring.name] = (sign * arrays.pop(ACCURACY.name)).astype(np.float32)
    for name, values in tested.others.items() if tested is not None else ():
        seen = values[honest & np.isfinite(values)]
        if len(seen):
            facts[name] = float(seen.mean())
            arrays[name] = values.astype(np.float32)
    return replace(record, facts=facts, arrays=arrays)


def _renamed(facts: Mapping[str, float], name: str, sign: float) -> dict[str, float]:
    found = {}
    for fact, value in facts.items():
        stem, _, rest = fact.partition("_")
        if stem != ACCURACY.name:
            found[fact] = value
            continue
        if sign < 0:
            rest = _OTHER_END.get(rest, rest)
        found[f"{name}_{rest}" if rest else name] = value if rest == "std" else sign * value
    return found
