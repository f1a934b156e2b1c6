"""The admitted replies of one round as arrays, in order of client id."""

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from statistics import median

import numpy as np

from flockwise.messages import Plan, Reply
from flockwise.types import Labels, Models, Updates, Vector, Weights


@dataclass(frozen=True)
class Batch:
    """One round's admitted replies; row i of every array belongs to `clients[i]`."""

    round: int
    clients: Labels
    updates: Updates
    sent: Models  # the model each client was sent
    weights: Weights
    chosen: Labels  # which of the models it was offered each client trained
    rows: Labels  # the row of that model in the plan
    losses: np.ndarray
    features: np.ndarray  # (clients, 3) place, hour and user of each report as numbers, NaN where unknown

    def of(self, rows: np.ndarray) -> "Batch":
        """The replies in some rows only, given as a mask."""
        if rows.all():
            return self
        return Batch(
            self.round, self.clients[rows], self.updates[rows], self.sent[rows],
            self.weights[rows], self.chosen[rows], self.rows[rows], self.losses[rows], self.features[rows],
        )  # fmt: skip


def stack(plan: Plan, replies: Sequence[Reply], weight_cap: float | None) -> Batch:
    """Lay admitted replies out as arrays; a sample count above `weight_cap` times the median counts as that."""
    offered = {task.client: task.models for task in plan.tasks}
    counts = np.array([reply.samples for reply in replies], dtype=np.float64)
    if weight_cap is not None and len(counts):
        counts = np.minimum(counts, weight_cap * median(counts.tolist()))
    rows = [offered[reply.client][reply.chosen] for reply in replies]
    dimension = plan.models.shape[1]
    return Batch(
        round=plan.round,
        clients=np.array([reply.client for reply in replies], dtype=np.int64),
        updates=_matrix([r.update for r in replies]) if replies else np.zeros((0, dimension), np.float32),
        # Where all got the same model it is not copied for each: a hundred large ones are gigabytes.
        sent=plan.models[rows]
        if len(set(rows)) != 1
        else np.broadcast_to(plan.models[rows[0]], (len(rows), dimension)),
        weights=counts,
        chosen=np.array([reply.chosen for reply in replies], dtype=np.int64),
        rows=np.array(rows, dtype=np.int64),
        losses=np.array([_number(reply.loss) for reply in replies]),
        features=np.array([[_place(r.address), _number(r.hour), _number(r.user)] for r in replies]).reshape(
            -1, 3
        ),
    )


def _matrix(updates: list[Vector]) -> Updates:
    """The updates as rows; not copied if they are the rows of a matrix already, all of them and in its order."""
    whole = updates[0].base
    if (
        isinstance(whole, np.ndarray)
        and (whole.shape, whole.dtype) == ((len(updates), updates[0].size), updates[0].dtype)
        and whole.flags.c_contiguous
    ):
        first, step = _address(whole), whole.strides[0]
        if all(
            update.base is whole and update.flags.c_contiguous and _address(update) == first + row * step
            for row, update in enumerate(updates)
        ):
            return whole
    return np.stack(updates)


def _address(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


def _place(address: object) -> float:
    """An IP address as a number, so that ranges of it are neighbourhoods; "lat,lon" counts by its longitude."""
    if address is None:
        return float("nan")
    try:
        return float(int(ip_address(str(address))))
    except ValueError:
        latitude, comma, longitude = str(address).partition(",")
        return _text_number(longitude) if comma and latitude else float("nan")


def _text_number(text: str) -> float:
    try:
        return _number(float(text))
    except ValueError:
        return float("nan")


def _number(value: object) -> float:
    """A number as told by a client; one so large that its square overflows counts as not told."""
    if isinstance(value, float | int | np.number) and abs(value) < 1e100:  # type: ignore[operator]
        return float(value)
    return float("nan")
