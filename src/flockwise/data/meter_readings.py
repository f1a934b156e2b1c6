"""Meters: the electricity of ten households, ten shops and ten dairy farms; the next hour from the last day.

The meters are made here, from the standard load profiles of the German energy association (BDEW) as the package demandlib
ships them: the profile of its kind in winter, shifted by an hour for early and late risers, with noise of its own that
wanders from hour to hour. The true groups are the three kinds. Every step is whole numbers or plain arithmetic, so the
same meters come out on every machine.
"""

import csv
import io

import numpy as np
from numpy.typing import NDArray

from flockwise.data.dataset import Holder
from flockwise.data.decoders import Arrays
from flockwise.data.folder import Folder
from flockwise.data.formats import DAMAGED, damaged
from flockwise.rng import generator

FILE = "selp_series.csv"
KINDS = {"h0": "household", "g4": "shop", "l1": "dairy farm"}  # BDEW's names of the profiles
METERS = 10  # of a kind
WEEKS, TRAINING_WEEKS, WEEK = 16, 12, 168
HOURS = 24  # looked back on
STEP = 5  # hours from one sample to the next: all hours of the week come
NOISE, MEMORY, SHOCK = 0.25, 0.75, 0.66  # the last two: about as much noise in every hour
THOUSAND = 1000  # the mean load of a meter; loads are whole thousandths of it
COLUMNS = (
    *(f"load {HOURS - back} h ago" for back in range(HOURS)),
    "hour",
    "from noon",
    "saturday",
    "sunday",
)
HOLDERS = tuple(
    Holder(f"{kind} {number}", {"kind": kind}) for kind in KINDS.values() for number in range(1, METERS + 1)
)


def decode_meters(folder: Folder) -> Arrays:
    """24 hourly loads, the hour to come and whether it is a weekend's; the load of that hour."""
    try:
        profiles = _profiles(folder.read(FILE).decode("utf-8"))
    except DAMAGED as problem:
        raise damaged(FILE, problem) from problem
    starts = np.arange(0, WEEKS * WEEK - HOURS, STEP)
    parts: list[tuple[NDArray[np.uint16], NDArray[np.float32], int, int]] = []
    for training in (True, False):
        for group, code in enumerate(KINDS):
            for number in range(METERS):
                meter = METERS * group + number
                load = _load(profiles[code], meter)
                own = starts[(starts + HOURS < TRAINING_WEEKS * WEEK) == training]
                parts.append(
                    (
                        _inputs(load, own),
                        load[own + HOURS].astype(np.float32) / np.float32(THOUSAND),
                        meter,
                        group,
                    )
                )
    sizes = [len(y) for _, y, _, _ in parts]
    return {
        "x": np.concatenate([x for x, _, _, _ in parts]), "y": np.concatenate([y for _, y, _, _ in parts]),
        "writer": np.repeat(np.array([meter for _, _, meter, _ in parts], np.int64), sizes),
        "writer_group": np.repeat(np.array([group for _, _, _, group in parts], np.int64), sizes),
    }  # fmt: skip


def _profiles(text: str) -> dict[str, NDArray[np.float64]]:
    """(168,) load of each hour of a winter week by kind, with a mean of 1."""
    rows = [row for row in csv.DictReader(io.StringIO(text)) if row["period"] == "winter"]
    if [int(row["weekday"]) for row in rows[::96]] != [1, 2, 3, 4, 5, 6, 7] or len(rows) != 4 * WEEK:
        raise ValueError("not a week of quarter hours")
    quarters = {code: np.array([float(row[code]) for row in rows]) for code in KINDS}
    hours = {code: values.reshape(WEEK, 4).sum(axis=1) for code, values in quarters.items()}
    return {code: values / values.mean() for code, values in hours.items()}


def _load(profile: NDArray[np.float64], meter: int) -> NDArray[np.uint16]:
    """A meter's load in every hour, in thousandths of its mean over the training weeks."""
    random = generator(0, "meters", meter)
    shift = int(random.integers(-1, 2))
    base = np.tile(np.roll(profile, shift), WEEKS)
    # The sum of twelve even numbers is as good as normal, and the same everywhere.
    shocks = (random.integers(0, 1 << 16, (len(base), 12)).sum(axis=1) - 6 * ((1 << 16) - 1)) / (1 << 16)
    wander = np.empty(len(base))
    last = 0.0
    for hour, shock in enumerate(shocks.tolist()):
        last = MEMORY * last + SHOCK * shock
        wander[hour] = last
    load = base * np.maximum(1.0 + NOISE * wander, 0.05)
    whole: NDArray[np.uint16] = np.rint(THOUSAND * load / load[: TRAINING_WEEKS * WEEK].mean()).astype(
        np.uint16
    )
    return whole


def _inputs(load: NDArray[np.uint16], starts: NDArray[np.int64]) -> NDArray[np.uint16]:
    past = load[starts[:, None] + np.arange(HOURS)]
    hour, day = (starts + HOURS) % 24, (starts + HOURS) // 24 % 7
    when = [
        hour * THOUSAND // 24,
        np.abs(hour - 12) * THOUSAND // 12,
        (day == 5) * THOUSAND,
        (day == 6) * THOUSAND,
    ]
    return np.concatenate([past, np.stack(when, axis=1)], axis=1).astype(np.uint16)
