"""Groups from where replies come from: the place, the hour and the user (Mini-FL)."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import NamedTuple

import numpy as np

from flockwise.clustering import kmeans_elbow
from flockwise.similarity import cosine
from flockwise.stages.attribution import OneModel
from flockwise.stages.batch import Batch
from flockwise.stages.evidence import Known
from flockwise.stages.grouping import Found
from flockwise.stages.stage import REPLIES, Round, Stage, stage
from flockwise.stages.state import Slot, State
from flockwise.types import Labels

FEATURES = ("geo", "time", "user")
MOST_HAVE_IT = 0.8  # a feature that fewer reports carry is not used; a few silent clients cannot veto it


class Origins(NamedTuple):
    """The newest place, hour and user of every client, and where its newest update points."""

    features: np.ndarray  # (clients, 3)
    updates: np.ndarray  # (clients, parameters), empty once there are groups


class Groups(NamedTuple):
    """The feature that tells groups apart, and the boundaries between them along it."""

    feature: int
    edges: np.ndarray


_ORIGINS = Slot("metadata", Origins, {"features": np.nan, "updates": 0.0})
_GROUPS = Slot("groups", Groups, {})


@dataclass(frozen=True)
class LatestOrigins:
    """The newest place, hour and user of every client heard so far, and where its newest update points."""

    needs: frozenset[object] = frozenset({REPLIES, _ORIGINS})

    @property
    def remember(self) -> Stage:
        """The stage that replaces the rows of this round's clients; updates are forgotten once there are groups."""
        return stage("remember origins", _remembered, [REPLIES], [_ORIGINS])

    def known(self, round: Round) -> Known:
        """Every client with at least one feature."""
        held = _ORIGINS.get(round.state)
        assert held is not None
        clients = np.flatnonzero(np.isfinite(held.features).any(axis=1) & round.state.free)
        directions = held.updates[clients] if len(held.updates) else np.zeros((len(clients), 0), np.float32)
        return Known(clients, lambda: np.concatenate([held.features[clients], directions], axis=1))


def _remembered(round: Round) -> Round:
    state, batch = round.state, round.replies
    before = _ORIGINS.get(state) or Origins(
        np.full((state.clients, len(FEATURES)), np.nan),
        np.zeros((state.clients, batch.updates.shape[1]), np.float32),
    )
    features = before.features.copy()
    features[batch.clients] = batch.replies.origins
    if _GROUPS.get(state) is not None:
        return round.to(_ORIGINS.put(state, Origins(features, np.zeros((0, 0), np.float32))))
    updates = before.updates.copy()
    lengths = np.linalg.norm(batch.updates.astype(np.float64), axis=1, keepdims=True)
    updates[batch.clients] = batch.updates / np.maximum(lengths, np.finfo(np.float64).tiny)
    return round.to(_ORIGINS.put(state, Origins(features, updates)))


@dataclass(frozen=True)
class ByFeature:
    """The feature in whose groups updates are most alike gives the groups.

    Each feature is grouped by itself: the elbow says into how many. Addresses always form neat groups, whether
    they matter or not, so what counts is how far the updates of a group point apart (`_unlike`). Rows are the
    three features, then the direction; without directions the squared errors of the feature itself count.
    The groups come with the boundaries between them, which also place a newcomer.
    """

    most_groups: int = 10

    def find(self, known: Known, round: Round) -> Found:
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
                values[:, None], min(self.most_groups, len(column)), round.setting.seed
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
        return Found(
            clients,
            labels,
            facts={**facts, "feature": float(feature)},
            remember=lambda state: _GROUPS.put(state, Groups(feature, edges)),
            detail={"boundaries": describe_groups(feature, edges)},
        )


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

    def relabel(self, state: State, batch: Batch, offers: Sequence[tuple[int, ...]]) -> Labels:
        """Groups of this round's clients by the boundaries."""
        groups = _GROUPS.get(state)
        if groups is None or not len(batch.clients):
            return state.labels
        feature = batch.replies.origins[:, groups.feature]
        labels = state.labels.copy()
        seen = np.isfinite(feature)
        labels[batch.clients[seen]] = np.searchsorted(groups.edges, feature[seen])
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
