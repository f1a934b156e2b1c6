"""What goes on the record of a round beside what the server knows: tests, truth, pictures."""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

import numpy as np

from flockwise.engine import Evaluation
from flockwise.messages import Event, RoundRecord
from flockwise.metrics import adjusted_rand, detection, per_group_accuracy, purity
from flockwise.runs.tested_clients import estimated
from flockwise.similarity.drawn_map import drawn_map
from flockwise.stages.state import FREE, UNPLACED

_DRAWN_EVERY = 10  # rounds between similarity matrices that are kept without a special reason


def recorded(
    record: RoundRecord, tested: Evaluation | None, truth: np.ndarray | None, attackers: frozenset[int],
    events: list[Event],
) -> RoundRecord:  # fmt: skip
    """The full record of a round."""
    facts, arrays = dict(record.facts), dict(record.arrays)
    everything = (*events, *record.events)
    facts["rejected"] = float(sum(event.kind == "rejected" for event in everything))
    facts["train_loss"] = _mean(arrays["loss"])
    flock, apart = arrays["flock"], arrays["apart"]
    honest = np.ones(len(flock), dtype=bool)
    honest[list(attackers)] = False
    if tested is not None:
        facts |= accuracy_facts(tested.score, tested.loss, honest)  # those set apart by mistake count too
        if tested.sample is not None:
            facts |= estimated(tested.score[honest], int(honest.sum()))
        if (apart[honest] != FREE).any():
            facts["accuracy_taking_part"] = _mean(tested.score[honest & (apart == FREE)])
        if truth is not None and np.isfinite(tested.score[honest]).any():
            by_group = per_group_accuracy(tested.score[honest], truth[honest])
            facts["accuracy_worst_group"] = float(np.nanmin(by_group))
        if tested.fooled is not None and np.isfinite(tested.fooled[honest]).any():
            facts["attack_success"] = float(np.nanmean(tested.fooled[honest]))
        arrays |= {
            "accuracy": tested.score.astype(np.float32),
            "test_loss": tested.loss.astype(np.float32),
        }
    facts |= truth_facts(flock, apart, truth, attackers)
    arrays["loss"] = arrays["loss"].astype(np.float32)
    if "similarity" in arrays:
        kept = record.round % _DRAWN_EVERY == 0 or record.round == 1 or any(
            event.kind in ("flocks", "split", "quarantine") for event in everything
        )  # fmt: skip
        square = arrays.pop("similarity")
        if not kept:
            arrays.pop("similarity_clients", None)
        else:
            small = np.abs(square[np.isfinite(square)]).max(initial=0.0) < np.finfo(np.float16).max
            arrays["similarity"] = square.astype(np.float16 if small else np.float32)
            if "similarity_clients" not in arrays:  # a map of all clients, not of some
                arrays["map"] = drawn_map(square)
    return replace(record, facts=facts, arrays=arrays, events=everything)


def accuracy_facts(accuracy: np.ndarray, loss: np.ndarray, counted: np.ndarray) -> dict[str, float]:
    """Accuracy over the clients that count: mean, worst, spread."""
    seen = accuracy[counted & np.isfinite(accuracy)]
    if not len(seen):
        return {}
    places = np.array([0.1, 0.9]) * (len(seen) - 1)
    low, high = np.interp(places, np.arange(len(seen)), np.sort(seen))  # np.quantile takes ten times as long
    return {
        "accuracy": float(seen.mean()), "accuracy_worst": float(seen.min()), "accuracy_std": float(seen.std()),
        "accuracy_p10": float(low), "accuracy_p90": float(high), "test_loss": _mean(loss[counted]),
    }  # fmt: skip


def truth_facts(
    flock: np.ndarray, apart: np.ndarray, truth: np.ndarray | None, attackers: frozenset[int]
) -> Mapping[str, float]:
    """How right the flocks and the quarantine are, where the truth is known."""
    facts: dict[str, float] = {}
    placed = (flock != UNPLACED) & (apart == FREE)
    if truth is not None and placed.any():
        ours, theirs = (
            np.ascontiguousarray(labels[placed], dtype=np.int64).tobytes() for labels in (flock, truth)
        )
        facts |= _agreement(ours, theirs)
    wolves = np.zeros(len(flock), dtype=bool)
    wolves[list(attackers)] = True
    found = detection(apart != FREE, wolves)
    facts["false_alarms"] = float(found.false_alarms)
    if attackers:
        facts |= {
            "missed": float((wolves & (apart == FREE)).sum()),
            "detection_precision": float(found.precision),
            "detection_recall": float(found.recall),
        }
    return facts


@lru_cache(maxsize=4)
def _agreement(flock: bytes, truth: bytes) -> Mapping[str, float]:
    """Kept, because flocks seldom change from one round to the next."""
    ours, theirs = np.frombuffer(flock, np.int64), np.frombuffer(truth, np.int64)
    return {"ari": adjusted_rand(ours, theirs), "purity": purity(ours, theirs)}


def _mean(values: np.ndarray) -> float:
    return float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")
