"""Groups from what reports carry by nature: the place, the hour and the user they come from (Mini-FL)."""

import itertools
from dataclasses import dataclass
from ipaddress import ip_address

import numpy as np

from flockwise.clustering import kmeans_elbow
from flockwise.pieces.attribution import OneModel
from flockwise.pieces.batch import Batch
from flockwise.pieces.evidence import Known
from flockwise.pieces.grouping import Found
from flockwise.pieces.state import State
from flockwise.similarity import cosine
from flockwise.types import Labels

FEATURES = ("geo", "time", "user")
MOST_HAVE_IT = 0.8  # a feature that fewer reports carry is not used; a few silent clients cannot veto it


@dataclass(frozen=True)
class Metadata:
    """The newest place, hour and user of every client heard so far, and where its newest update points."""

    def remember(self, state: State, batch: Batch) -> State:
        """Replace the rows of this round's clients; updates are forgotten once there are groups."""
        held = state.memory.get("metadata/features", np.full((state.clients, len(FEATURES)), np.nan)).copy()
        held[batch.clients] = batch.features
        shape = (state.clients, batch.updates.shape[1])
        if "groups/edges" in state.memory:
            return state.remember(
                **{"metadata/features": held, "metadata/updates": np.zeros((0, 0), np.float32)}
            )
        updates = state.memory.get("metadata/updates", np.zeros(shape, np.float32)).copy()
        lengths = np.linalg.norm(batch.updates.astype(np.float64), axis=1, keepdims=True)
        updates[batch.clients] = batch.updates / np.maximum(lengths, np.finfo(np.float64).tiny)
        return state.remember(**{"metadata/features": held, "metadata/updates": updates})

    def known(self, state: State, batch: Batch) -> Known:
        """Every client with at least one feature."""
        held = state.memory["metadata/features"]
        clients = np.flatnonzero(np.isfinite(held).any(axis=1) & state.free)
        updates = state.memory["metadata/updates"]
        directions = updates[clients] if len(updates) else np.zeros((len(clients), 0), np.float32)
        return Known(clients, lambda: np.concatenate([held[clients], directions], axis=1))


@dataclass(frozen=True)
class ByFeature:
    """The feature in whose groups updates are most alike gives the groups.

    Each feature is grouped by itself: the elbow says into how many. Addresses always form neat groups, whether
    they matter or not, so what counts is how far the updates of a group point apart (`_unlike`). Rows are the
    three features, then the direction; without directions the squared errors of the feature itself count.
    The groups come with the boundaries between them, which also place a newcomer.
    """

    most_groups: int = 10
    seed: int = 0

    def find(self, known: Known, round: int) -> Found:
        """Groups by the best feature."""
        best: tuple[float, int, Labels, Labels, np.ndarray] | None = None
        facts: dict[str, float] = {}
        for feature, name in enumerate(FEATURES):
            told = np.isfinite(known.rows[:, feature])
            column = known.rows[told, feature]
            if not told.any() or told.mean() < MOST_HAVE_IT or np.ptp(column) == 0:
                continue
            values = (column - column.mean()) / column.std()
            labels, groups, errors = kmeans_elbow(
                values[:, None], min(self.most_groups, len(column)), self.seed
            )
            directions = known.rows[told, len(FEATURES) :]
            left = (
                _unlike(directions, labels)
                if directions.shape[1]
                else float(errors[groups - 1]) / len(column)
            )
            facts |= {f"unlike_{name}": left, f"groups_{name}": float(groups)}
            if groups > 1 and (best is None or left < best[0]):
                best = (left, feature, known.clients[told], *_in_order(column, labels))
        if best is None:
            return Found(known.clients, np.zeros(len(known.clients), dtype=np.int64), facts=facts)
        _, feature, clients, labels, edges = best
        arrays = {"groups/feature": np.array([feature]), "groups/edges": edges}
        return Found(clients, labels, None, {**facts, "feature": float(feature)}, arrays)


def _unlike(directions: np.ndarray, labels: Labels) -> float:
    """How far the typical client points away from the nearer half of the others in its group.

    The nearer half and the median over clients, because attackers in the right groups point elsewhere and
    would make these look worse than chance. A client alone in its group is like nobody.
    """
    alike = cosine(directions)
    unlike = np.ones(len(directions))
    for group in np.unique(labels):
        members = np.flatnonzero(labels == group)
        if len(members) > 1:
            inner = alike[np.ix_(members, members)]
            others = np.sort(inner[~np.eye(len(members), dtype=bool)].reshape(len(members), -1), axis=1)
            unlike[members] = 1.0 - others[:, -((len(members)) // 2) :].mean(axis=1)
    return float(np.median(unlike))


def _in_order(column: np.ndarray, labels: Labels) -> tuple[Labels, np.ndarray]:
    """Groups numbered along the feature, and the boundaries half-way between them."""
    order = np.argsort([column[labels == group].mean() for group in range(labels.max() + 1)])
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    labels = rank[labels]
    tops = [column[labels == group].max() for group in range(len(order) - 1)]
    bottoms = [column[labels == group].min() for group in range(1, len(order))]
    return labels, (np.array(tops) + np.array(bottoms)) / 2


@dataclass(frozen=True)
class OneModelByBoundaries(OneModel):
    """One global model; each report is put into a group by its own feature, newcomers too."""

    def relabel(self, state: State, batch: Batch, offers: list[tuple[int, ...]]) -> Labels:
        """Groups of this round's clients by the boundaries."""
        if "groups/edges" not in state.memory or not len(batch.clients):
            return state.labels
        feature = batch.features[:, int(state.memory["groups/feature"][0])]
        labels = state.labels.copy()
        seen = np.isfinite(feature)
        labels[batch.clients[seen]] = np.searchsorted(state.memory["groups/edges"], feature[seen])
        return labels


def describe_groups(feature: int, edges: np.ndarray) -> list[str]:
    """The boundaries in words: address ranges, hours or id ranges."""
    ends = [-np.inf, *edges.tolist(), np.inf]
    return [_range(FEATURES[feature], low, high) for low, high in itertools.pairwise(ends)]


def _range(feature: str, low: float, high: float) -> str:
    def text(value: float) -> str:
        if np.isinf(value):
            return "…"
        if feature == "geo" and 0 <= value < 2**32 and value > 360:
            return str(ip_address(int(value)))
        return f"{value:.2f} h" if feature == "time" else f"{value:.4g}"

    return f"{feature} {text(low)} to {text(high)}"
