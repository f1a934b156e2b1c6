"""The admitted replies of one round, with what the server knows of each."""

from dataclasses import dataclass
from statistics import median

import numpy as np

from flockwise.messages import Plan, Replies
from flockwise.types import Clients, Models, Rows, Updates, Weights


@dataclass(frozen=True)
class Batch:
    """One round's admitted replies in order of client id; row i of every column belongs to `clients[i]`."""

    replies: Replies
    weights: Weights  # sample counts, as far as they are believed
    rows: Rows  # the row of the model that each client trained in the plan
    models: Models  # those of the plan

    @property
    def round(self) -> int:
        """The round these replies answer."""
        return self.replies.round

    @property
    def clients(self) -> Clients:
        """Who answered."""
        return self.replies.clients

    @property
    def updates(self) -> Updates:
        """(clients, parameters)"""
        return self.replies.updates

    @property
    def sent(self) -> Models:
        """The model each client was sent."""
        if len(self.rows) and (self.rows == self.rows[0]).all():
            # Where all got the same model it is not copied for each: a hundred large ones are gigabytes.
            return np.broadcast_to(self.models[self.rows[0]], self.updates.shape)
        return self.models[self.rows]

    def of(self, which: np.ndarray) -> "Batch":
        """The replies in some rows only, given as a mask."""
        if which.all():
            return self
        return Batch(self.replies.rows(which), self.weights[which], self.rows[which], self.models)


def batch_of(plan: Plan, replies: Replies, weight_cap: float | None) -> Batch:
    """Admitted replies as a batch; a sample count above `weight_cap` times the median counts as that."""
    counts = replies.samples.astype(np.float64)
    if weight_cap is not None and len(counts):
        counts = np.minimum(counts, weight_cap * median(counts.tolist()))
    offered = plan.offers
    pairs = zip(replies.clients.tolist(), replies.chosen.tolist(), strict=True)
    rows = np.array([offered[client][chosen] for client, chosen in pairs], dtype=np.int64)
    return Batch(replies, counts, rows, plan.models)
