"""How flocks are found among clients: a similarity, a clusterer, and a test that the flocks are real."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol, runtime_checkable

import numpy as np

from flockwise.clustering import bipartition, in_order
from flockwise.clustering.crowd import sums_by
from flockwise.clustering.spanning import Tree, sparse_bipartition
from flockwise.similarity import Measure
from flockwise.similarity.measure import Kind
from flockwise.stages.crowds import Crowd, is_crowd
from flockwise.stages.evidence import Known
from flockwise.stages.separation import beyond_noise, seen_through_sketches, separation
from flockwise.stages.stage import Round
from flockwise.stages.state import State
from flockwise.types import Clients, Labels, Square

FEWEST_TO_REFINE = 4  # clients; separation means little among fewer
FEW_TO_REFINE = 100  # up to here `refine` is asked for in full, of ten clients as of a hundred
FEWEST_IN_NOISE = 10  # clients, of whom noise reaches the usual `refine`
Test = Callable[[Square, Labels], bool]  # whether parts of a flock are flocks
Cluster = Callable[[np.ndarray, int], Labels]  # similarities, distances or points, and a seed


@dataclass(frozen=True)
class Found:
    """Flocks found among some clients, with the evidence for them."""

    clients: Clients
    labels: Labels  # (clients,) 0..flocks-1
    square: Square | None = None  # the similarities (or distances) they were found in
    facts: Mapping[str, float] = field(default_factory=dict)
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
    remember: Callable[[State], State] | None = (
        None  # what is kept if the flocks are acted on; their numbers stay
    )
    detail: Mapping[str, object] = field(default_factory=dict)  # for the event that tells of them
    compared: Clients | None = None  # whose similarities `square` has, if not all clients'
    call: float | None = (
        None  # of several flocks looked into, the lowest is the closest call: its facts are recorded
    )

    @property
    def flocks(self) -> int:
        """How many flocks."""
        return int(self.labels.max(initial=-1)) + 1


class Grouping(Protocol):
    """Finds flocks among known clients."""

    def find(self, known: Known, round: Round) -> Found:
        """Flocks among these clients; one flock means: nothing to tell apart."""


@runtime_checkable
class SketchGrouping(Grouping, Protocol):
    """One that may do with sketches of updates; any other is taken to need whole ones."""

    @property
    def exact(self) -> str:
        """Why whole updates are needed, if they are."""


def _why_exact(measure: Measure) -> str:
    return "" if measure.sketches else f"similarity {measure.name!r} cannot be had from sketches"


def as_kind(square: Square, measure: Measure, wanted: Kind, power: float = 1.0) -> Square:
    """Turn similarities into distances or the reverse, whichever a clusterer takes."""
    if wanted == measure.kind == "distance":
        return square if power == 1.0 else square**power
    if measure.kind == "similarity":
        # Weights of a graph must not be negative: cosines become 1 + cosine.
        lowest = (
            measure.bottom if measure.bottom is not None else min(float(np.nanmin(square, initial=0.0)), 0.0)
        )
        weights = np.asarray((square - lowest) ** power)
        return (
            weights if wanted == "similarity" else np.maximum((measure.top - lowest) ** power - weights, 0.0)
        )
    others = square[~np.eye(len(square), dtype=bool)]
    low, high = (np.nanmin(others), np.nanmax(others)) if len(others) else (0.0, 1.0)
    scaled = 1.0 - (square - low) / max(high - low, np.finfo(np.float64).tiny)  # communities, eq. 3
    return np.asarray(np.clip(scaled, 0.0, 1.0) ** power)


@dataclass(frozen=True)
class Clustered:
    """Compare, cluster, and keep the flocks only if they are further apart than noise.

    `refine` looks inside each flock again, and splits it if the parts are separated by at least that much (of more than a
    hundred clients two thirds are enough): modularity on a dense graph merges flocks that are somewhat alike.
    `centred` compares clients by how they differ from the mean of those compared.
    `hidden` looks inside flocks that are too near before they are given up: kinds that are alike in groups, as languages
    are, hide each other, since what they differ by looks like noise inside a flock that holds several.
    """

    measure: Measure
    cluster: Cluster
    takes: Kind
    power: float = 1.0
    min_separation: float | Callable[[int], float] = 0.0  # or what so many clients need
    refine: float | None = None
    fewest: int = 2  # clients; fewer are one flock, whatever they look like
    centred: bool = False
    hidden: bool = False
    describe: Callable[[Square, np.ndarray, Labels], Mapping[str, float]] | None = (
        None  # compared, taken, found
    )
    draw: Callable[[np.ndarray], Mapping[str, np.ndarray]] | None = None
    by_tree: Callable[[Tree], Labels] | None = (
        None  # of very many clients, if it needs their spanning tree alone
    )

    @property
    def exact(self) -> str:
        """Why whole updates are needed, if they are."""
        return _why_exact(self.measure)

    def find(self, known: Known, round: Round) -> Found:
        """Flocks among these clients."""
        known = known.centred() if self.centred and len(known.clients) else known
        if is_crowd(known):
            return self._in_crowd(Crowd(known, self.measure, self.power, round.setting.seed))
        square = known.compare(self.measure) if len(known.clients) else np.zeros((0, 0))
        if len(known.clients) < max(self.fewest, 2):
            return Found(known.clients, np.zeros(len(known.clients), dtype=np.int64), square)
        taken = (
            known.rows if self.takes == "points" else as_kind(square, self.measure, self.takes, self.power)
        )
        seed = round.setting.seed
        labels = self.cluster(taken, seed)
        if self.refine is not None and self.takes != "points":
            real = lambda inner, parts: self._real(inner, parts, known.lost)  # noqa: E731
            labels = self._refined(square, taken, labels, seed, real)
        apart = separation(square, labels, self.measure.kind)
        if self.hidden and self.takes != "points" and self._needed(len(labels)) > apart:
            labels = self._refined(square, taken, labels, seed, self._beyond, self.fewest)
            apart = separation(square, labels, self.measure.kind)
        facts = {"separation": apart, **(self.describe(square, taken, labels) if self.describe else {})}
        if 0.0 < self._needed(len(labels)) > apart:  # 0: whatever was found stands, however mixed
            labels = np.zeros_like(labels)
        return Found(known.clients, labels, square, facts, self.draw(taken) if self.draw else {})

    def _in_crowd(self, crowd: Crowd) -> Found:
        """Flocks of very many clients; whether they are real is tested on some."""
        known, arrays, facts = crowd.known, {}, {}
        if self.takes == "similarity":
            labels = crowd.settled(self.cluster(crowd.graph, crowd.seed))
            if self.describe:
                facts = dict(self.describe(np.zeros((0, 0)), crowd.graph, labels))
        elif self.by_tree and crowd.has_tree:
            labels = crowd.gathered(self.by_tree(crowd.tree))
        else:
            nests, means = crowd.nests()
            square = self.measure.compare(means)
            taken = means if self.takes == "points" else as_kind(square, self.measure, "distance", self.power)
            labels = in_order(self.cluster(taken, crowd.seed)[nests])
            arrays = dict(self.draw(taken)) if self.draw else {}
        some = crowd.drawn(labels)
        square = known.of(some).compare(self.measure)
        facts["separation"] = separation(square, labels[some], self.measure.kind)
        if 0.0 < self._needed(len(labels)) > facts["separation"]:
            labels = np.zeros_like(labels)
        return Found(known.clients, labels, square, facts, arrays, compared=known.clients[some])

    def _needed(self, clients: int) -> float:
        return self.min_separation(clients) if callable(self.min_separation) else self.min_separation

    def _beyond(self, square: Square, parts: Labels) -> bool:
        return separation(square, parts, self.measure.kind) >= self._needed(len(parts))

    def _refined(
        self, square: Square, taken: np.ndarray, labels: Labels, seed: int, real: Test, fewest: int = FEWEST_TO_REFINE
    ) -> Labels:  # fmt: skip
        labels, waiting = labels.copy(), list(range(int(labels.max()) + 1))
        while waiting:
            members = np.flatnonzero(labels == waiting.pop())
            if len(members) < fewest:
                continue
            inner = np.ix_(members, members)
            parts = self.cluster(taken[inner], seed)
            if parts.max() > 0 and real(square[inner], parts):
                flock, fresh = labels[members[0]], int(labels.max())
                labels[members] = np.where(parts == 0, flock, fresh + parts)
                waiting += np.unique(labels[members]).tolist()
        return labels

    def _real(self, square: Square, parts: Labels, lost: float) -> bool:
        """Whether parts of a flock are far enough apart to be flocks; noise parts many clients less than few."""
        needed = self.refine or 0.0
        if len(parts) > FEW_TO_REFINE:
            needed *= beyond_noise(len(parts)) / beyond_noise(FEWEST_IN_NOISE)
        if not lost:
            return separation(square, parts, self.measure.kind) >= needed
        blur = self.measure.blur(square, lost)
        return seen_through_sketches(square, parts, self.measure.kind, blur, needed)


@dataclass(frozen=True)
class Nested:
    """Kinds inside kinds: whatever flocks were found, each is looked into by itself, until nothing more is found."""

    grouping: "Clustered"

    @property
    def exact(self) -> str:
        """Why whole updates are needed, if they are."""
        return self.grouping.exact

    def find(self, known: Known, round: Round) -> Found:
        """The innermost flocks, with the evidence for the outermost."""
        found = self.grouping.find(known, round)
        labels, parts = found.labels.copy(), found.flocks
        for flock in range(parts if parts > 1 else 0):
            members = np.flatnonzero(found.labels == flock)
            inside = self.find(known.of(members), round).labels
            labels[members] = np.where(inside == 0, flock, parts + inside - 1)
            parts += int(inside.max(initial=0))
        return replace(found, labels=in_order(labels))


@dataclass(frozen=True)
class SplitInTwo:
    """Split in two where the largest similarity across is smallest, if that is below a threshold.

    `decay` lowers the threshold as training goes on: threshold / (1 + decay * (round - 1)).
    `eps1`, `eps2` are the stationarity gate of the original CFL: split only if the mean update is shorter
    than eps1 while the longest is longer than eps2 (None: no gate).
    `cohesion` is how alike those in the larger part must be on average: near convergence nobody's updates
    agree any more, and then a low similarity across says nothing.
    Clients are compared by cosine, or by `measure` turned into similarities as for a graph.
    `beyond_noise` asks where updates are sketched, as those of very many small clients are, that the parts be further apart
    than noise parts so many: among many somebody is odd by chance.
    """

    threshold: float = 0.02
    decay: float = 0.0
    eps1: float | None = None
    eps2: float | None = None
    cohesion: float = -1.0
    measure: Measure | None = None
    power: float = 1.0
    beyond_noise: bool = False

    @property
    def exact(self) -> str:
        """Why whole updates are needed, if they are."""
        return "" if self.measure is None else f"bipartition by {self.measure.name!r} needs all similarities"

    def find(self, known: Known, round: Round) -> Found:
        """Two flocks, or one if they are too alike."""
        alone = np.zeros(len(known.clients), dtype=np.int64)
        if len(known.clients) < 2:
            return Found(known.clients, alone)
        if is_crowd(known):
            labels, alpha_cross, inside, square = self._in_crowd(known, round.setting.seed)
        else:
            labels, alpha_cross, inside, square = self._among_few(known)
        limit = self.threshold / (1.0 + self.decay * (round.number - 1))
        facts = {"alpha_cross": float(alpha_cross), "alpha_threshold": limit, "cohesion": inside}
        split = alpha_cross < limit and inside >= self.cohesion and self._stationary(known)
        if split and self.beyond_noise and known.sketched and square is not None:
            split = separation(square, labels, "similarity") >= beyond_noise(len(labels))
        return Found(known.clients, labels if split else alone, square, facts, call=float(alpha_cross))

    def _in_crowd(self, known: Known, seed: int) -> tuple[Labels, float, float, None]:
        units = known.rows
        units /= np.maximum(np.linalg.norm(units, axis=1, keepdims=True), np.finfo(np.float32).tiny)
        labels, alpha_cross = sparse_bipartition(units, seed)
        members = labels == np.bincount(labels).argmax()
        count, total = int(members.sum()), sums_by(units, members.astype(np.int64))[-1]
        inside = float((total @ total - count) / max(count * (count - 1), 1))
        return labels, alpha_cross, inside, None

    def _among_few(self, known: Known) -> tuple[Labels, float, float, Square]:
        square = known.cosine()
        if self.measure is not None:
            square = as_kind(known.compare(self.measure), self.measure, "similarity", self.power)
        labels, alpha_cross = bipartition(square)
        return labels, alpha_cross, _mean_inside(square, labels == np.bincount(labels).argmax()), square

    def _stationary(self, known: Known) -> bool:
        if self.eps1 is None and self.eps2 is None:
            return True
        rows = known.rows
        joint = float(
            np.linalg.norm(rows.mean(axis=0, dtype=np.float64))
        )  # the norm of the mean, not the reverse
        longest = float(max(np.linalg.norm(row) for row in rows))
        return (self.eps1 is None or joint < self.eps1) and (self.eps2 is None or longest > self.eps2)


def _mean_inside(square: Square, members: np.ndarray) -> float:
    """Mean similarity of different members; 0 for a single one: of two clients nobody can say who is odd."""
    count = int(members.sum())
    if count < 2:
        return 0.0
    inner = square[np.ix_(members, members)]
    return float((inner.sum() - np.trace(inner)) / (count * (count - 1)))
