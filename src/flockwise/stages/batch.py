"""The admitted replies of one round, with what the server knows of each."""

from dataclasses import dataclass

import numpy as np

from flockwise.messages import Plan, Replies
from flockwise.types import Clients, Models, Rows, Updates, Weights


@dataclass(frozen=True)
class Batch:
    """One round's admitted replies in order of client id; row i of every column belongs to `clients[i]`."""

    replies: Replies
    weights: Weights  # the sample counts that clients claim
    rows: Rows  # the row of the model that each client trained in the plan
    models: Models  # those of the plan
    sketches: Updates | None = None  # of the updates, where these were let go of as they arrived

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
        """(clients, parameters), read into memory where they lie on disk; `replies.updates` is for who does with a block."""
        return np.asarray(self.replies.updates)

    @property
    def sent(self) -> Models:
        """The model each client was sent."""
        if len(self.rows) and (self.rows == self.rows[0]).all():
            # Where all got the same model it is not copied for each: a hundred large ones are gigabytes.
            return np.broadcast_to(self.models[self.rows[0]], self.replies.updates.shape)
        return self.models[self.rows]

    def of(self, which: np.ndarray) -> "Batch":
        """The replies in some rows only, given as a mask."""
        if which.all():
            return self
        sketches = None if self.sketches is None else self.sketches[which]
        return Batch(self.replies.rows(which), self.weights[which], self.rows[which], self.models, sketches)


def batch_of(plan: Plan, replies: Replies) -> Batch:
    """Admitted replies as a batch."""
    offered = plan.offers
    pairs = zip(replies.clients.tolist(), replies.chosen.tolist(), strict=True)
    rows = np.array([offered[client][chosen] for client, chosen in pairs], dtype=np.int64)
    return Batch(replies, replies.samples.astype(np.float64), rows, plan.models)


def believed(counts: Weights, cap: float | None) -> Weights:
    """Sample counts of clients that are averaged together, as far as they are believed.

    Clients claim their counts themselves, so none counts for more than `cap` times the median of those it is averaged
    with (of an even number the lower one: of two, the smaller). At least half of the others have as much as
    the median, so the share of one client is at most cap / (cap + floor(n / 2)), whatever it claims.
    """
    if cap is None or not len(counts):
        return counts
    middle = (len(counts) - 1) // 2
    return np.asarray(np.minimum(counts, cap * np.partition(counts, middle)[middle]))
