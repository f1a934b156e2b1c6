"""Arms: a smart watch at the wrist of ten people, left and right, doing seven shoulder exercises.

The recordings are those of David Burns' study (arXiv:1802.01489) as the package seglearn ships them: 140 series of 6
sensors at 50 Hz, one for each person, arm and exercise. A client is one arm of one person; what a left arm does looks
mirrored from a right one's, so the true groups are the two sides.
"""

from typing import Any

import numpy as np

from flockwise.data.dataset import Holder
from flockwise.data.decoders import Arrays
from flockwise.data.folder import Folder
from flockwise.data.formats import DAMAGED, damaged
from flockwise.data.pickled_arrays import read_pickled

FILE = "watch_dataset.npy"
EXERCISES = ("PEN", "ABD", "FEL", "IR", "ER", "TRAP", "ROW")
SENSORS = ("ax", "ay", "az", "wx", "wy", "wz")
EVERY = 2  # of 50 Hz: 25 readings a second
WINDOW = 50  # readings: two seconds
TRAINING = 0.7  # of each series, its beginning; the test part is its end
PEOPLE = 10

HOLDERS = tuple(
    Holder(f"{side} arm of person {person}", {"person": person, "arm": side})
    for person in range(1, PEOPLE + 1)
    for side in ("left", "right")
)


def decode_arms(folder: Folder) -> Arrays:
    """Windows of two seconds that do not overlap, in g and radians a second; the exercise of each."""
    content = folder.read(FILE)
    try:
        found = read_pickled(content[content.index(b"\n") + 1 :])
        series = [_readings(each) for each in found["X"]]
        people = {
            number: place for place, number in enumerate(sorted(set(np.asarray(found["subject"]).tolist())))
        }
        about = [
            (2 * people[subject] + int(side), int(exercise), int(side))
            for subject, side, exercise in zip(
                *(np.asarray(found[name]).tolist() for name in ("subject", "side", "y")), strict=True
            )
        ]
        if len(people) != PEOPLE or len(about) != len(series):
            raise ValueError(f"{len(people)} people, {len(series)} series")
    except DAMAGED as problem:
        raise damaged(FILE, problem) from problem
    parts: list[tuple[np.ndarray, tuple[int, int, int]]] = []
    for first in (True, False):
        for readings, told in zip(series, about, strict=True):
            parts += [(window, told) for window in _windows(readings, first)]
    writer, y, group = (
        np.array(values, np.int64) for values in zip(*(told for _, told in parts), strict=True)
    )
    return {"x": np.stack([window for window, _ in parts]), "y": y, "writer": writer, "writer_group": group}


def _readings(series: Any) -> np.ndarray:
    """25 readings a second, which must be numbers."""
    values = np.asarray(series, dtype=np.float64)[::EVERY].astype(np.float32)
    if values.ndim != 2 or values.shape[1] != len(SENSORS) or not np.isfinite(values).all():
        raise ValueError(f"a series of shape {values.shape}")
    return values


def _windows(readings: np.ndarray, training: bool) -> list[np.ndarray]:
    cut = int(len(readings) * TRAINING)
    part = readings[:cut] if training else readings[cut:]
    return [part[start : start + WINDOW] for start in range(0, len(part) - WINDOW + 1, WINDOW)]
