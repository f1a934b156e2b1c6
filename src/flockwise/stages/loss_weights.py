"""Who has usual losses beside whom, as evidence: Gaussian weights of losses, kept for pairs of clients (FedGWC)."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from flockwise.clustering.checks import in_order
from flockwise.stages.evidence import Known
from flockwise.stages.grouping import Found
from flockwise.stages.stage import REPLIES, Round, Stage, stage
from flockwise.stages.state import Slot, State, flocks_in
from flockwise.types import Labels, Square

_TINY = 1e-16


class Weighed(NamedTuple):
    """The weights, and how settled they are: of a flock, written down for each of its clients."""

    weights: np.ndarray  # (clients, clients): of the first, when the second took part too
    moved: np.ndarray  # (clients,) moving mean of squared changes
    calm: np.ndarray  # (clients,) rounds in a row with little change
    drawn: np.ndarray  # (clients,) how many of the flock took part in the last round


_WEIGHED = Slot(
    "loss weights",
    Weighed,
    {"weights": 0.0, "moved": 1.0, "calm": 0, "drawn": 1},
    squares=frozenset({"weights"}),
)


def _held(state: State) -> Weighed:
    clients = state.clients
    fresh = np.ones(clients), np.zeros(clients, np.int64), np.ones(clients, np.int64)
    return _WEIGHED.get(state) or Weighed(np.full((clients, clients), clients**-2.0), *fresh)


def gaussian(losses: np.ndarray, samples: np.ndarray) -> np.ndarray:
    """How usual each loss is among them: one at the mean by samples, less the more deviations off."""
    shares = samples / samples.sum()
    mean = shares @ losses
    spread = shares @ (losses - mean) ** 2 + _TINY
    return np.asarray(np.exp(-0.5 * (losses - mean) ** 2 / spread))


@dataclass(frozen=True)
class LossWeights:
    """Weights of all clients that take part together, flock by flock; settled when they change by less than `eps`."""

    eps: float
    needs: frozenset[object] = frozenset({REPLIES, _WEIGHED})

    @property
    def remember(self) -> Stage:
        """The stage that takes this round's losses in."""

        def run(round: Round) -> Round:
            batch, state, held = round.replies, round.state, _held(round.state)
            held = Weighed(*(array.copy() for array in held))
            heard = np.isfinite(batch.replies.losses)
            for flock in flocks_in(state.labels[batch.clients]):
                rows = np.flatnonzero(heard & (state.labels[batch.clients] == flock))
                members = np.flatnonzero((state.labels == flock) & state.free)
                if len(rows) > 1:
                    usual = gaussian(batch.replies.losses[rows], batch.weights[rows])
                    self._take(held, batch.clients[rows], members, usual / usual.sum())
            return round.to(_WEIGHED.put(state, held))

        return stage("weigh losses", run, [REPLIES], [_WEIGHED], whole="")

    def _take(self, held: Weighed, drawn: np.ndarray, members: np.ndarray, usual: np.ndarray) -> None:
        new, block = len(drawn) / len(members), np.ix_(drawn, drawn)
        after = (1.0 - new) * held.weights[block] + new * usual[:, None]
        moved = np.mean((after - held.weights[block]) ** 2)
        held.weights[block] = after
        held.moved[members] = (1.0 - new) * held.moved[members[0]] + new * moved
        held.calm[members] = held.calm[members[0]] + 1 if held.moved[members[0]] < self.eps else 0
        held.drawn[members] = len(drawn)

    def known(self, round: Round) -> Known:
        """Everybody free, with its weights."""
        held, clients = _held(round.state), np.flatnonzero(round.state.free)
        return Known(clients, lambda: held.weights[clients].astype(np.float32))


@dataclass(frozen=True)
class BySettledWeights:
    """Spectral clustering of who has whose weights, where they have settled; as many flocks as Davies and Bouldin prefer."""

    gamma: float
    most: int = 4

    def find(self, known: Known, round: Round) -> Found:
        """Flocks among the clients of one flock; one, while nothing is settled or nothing is better than one."""
        held, one = _held(round.state), Found(known.clients, np.zeros(len(known.clients), np.int64))
        if len(known.clients) < 3:
            return one
        first = known.clients[0]
        turns = len(known.clients) / held.drawn[first]  # rounds until everybody took part, on average
        due = held.calm[first] > 0 and held.calm[first] % max(round_half(turns), 1) == 0
        if not due:
            return one
        alike = affinity(held.weights[np.ix_(known.clients, known.clients)], self.gamma)
        tries = [spectral(alike, k, round.setting.seed) for k in range(2, min(int(turns), self.most) + 1)]
        score, labels = min(tries, key=lambda tried: tried[0], default=(np.inf, one.labels))
        return replace(one, labels=labels, facts={"davies_bouldin": score}) if score < 1.0 else one


def round_half(number: float) -> int:
    """The nearest whole number."""
    return int(np.floor(number + 0.5))


def affinity(weights: Square, gamma: float) -> Square:
    """How alike clients are as company: a kernel of how the others' weights differ beside one and beside the other."""
    beside = weights.T
    beside = (beside - beside.min()) / max(float(np.ptp(beside)), 1e-8)
    squares = ((beside[:, None, :] - beside[None, :, :]) ** 2).sum(axis=2)
    own = (
        np.diag(beside)[:, None] - beside.T
    ) ** 2  # [i, j]: their own two columns say nothing of the others
    alike: Square = np.exp(-gamma * (squares - own - own.T))
    np.fill_diagonal(alike, 0.0)
    return alike


def spectral(alike: Square, flocks: int, seed: int) -> tuple[float, Labels]:
    """k flocks in the leading directions of the graph, and Davies and Bouldin's score of them (lower is better)."""
    from sklearn.cluster import SpectralClustering
    from sklearn.manifold import SpectralEmbedding
    from sklearn.metrics import davies_bouldin_score

    drawn = {"affinity": "precomputed", "random_state": seed % 2**32}
    clusterer = SpectralClustering(flocks, n_components=flocks, assign_labels="cluster_qr", **drawn)
    labels = in_order(clusterer.fit_predict(alike))
    if labels.max() == 0:
        return float("inf"), labels
    return float(
        davies_bouldin_score(SpectralEmbedding(flocks, **drawn).fit_transform(alike), labels)
    ), labels
