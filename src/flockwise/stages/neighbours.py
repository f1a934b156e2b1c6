"""Models by how near clients are to communities: AVG, 1NN, WNN and Late of the communities paper."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from flockwise.similarity import trusted
from flockwise.stages.attribution import SendsOne
from flockwise.stages.evidence import LatestModels, latest_models
from flockwise.stages.stage import Setting
from flockwise.stages.state import UNPLACED, State, flocks_in
from flockwise.types import Models, Rows, Square, Updates

_SAME = 1e-9  # the logarithm of a distance that is none


@dataclass(frozen=True)
class NearestCommunities(SendsOne):
    """AVG, 1NN or WNN of the communities paper (Algorithm 2), or Late.

    Newcomers get the global model, the plain mean of the community models. WNN weighs the `neighbours`
    nearest community models by exp(-beta * distance) so that the weights sum to one: the further
    division by |N_q| in the paper's eq. 4 would shrink the model every round. `soft` weighs them by
    1 / log(1 + distance) instead: distances multiply layer by layer, so that exp leaves nothing to all but the nearest.
    Late is AVG until the communities are fixed at round `late_from`, then each client's own community.
    """

    kind: Literal["avg", "1nn", "wnn", "late"] = "1nn"
    neighbours: int = 3
    beta: float = 1.0
    late_from: int = 10
    soft: bool = False
    latest: LatestModels = latest_models

    def assign(self, state: State, setting: Setting) -> tuple[Models, Rows]:
        """The global model in row 0, then community or personal models."""
        alive = flocks_in(state.labels)
        alive = alive if len(alive) else np.zeros(1, dtype=np.int64)  # everyone was set apart
        world = state.models[alive].mean(axis=0, dtype=np.float64).astype(np.float32)
        own, heard = self.latest.of(state)
        known = np.flatnonzero(heard)
        rows = np.zeros(state.clients, dtype=np.int64)
        if self.kind == "avg" or len(known) == 0 or (self.kind == "late" and state.round < self.late_from):
            return world[None], rows
        models = np.concatenate([world[None], state.models[alive]])
        if self.kind == "late":
            rows[known] = 1 + np.searchsorted(alive, state.labels[known])
            rows[state.labels == UNPLACED] = 0
            return models, rows
        away = _distances(own[known], state.models[alive], setting)
        if self.kind == "1nn" or len(alive) == 1:
            rows[known] = 1 + away.argmin(axis=1)
            return models, rows
        rows[known] = 1 + np.arange(len(known))
        return np.concatenate([world[None], self._mixed(away, state.models[alive])]), rows

    def _mixed(self, away: Square, communities: Models) -> Models:
        """A model for each client: the mean of the nearest communities', the nearer the heavier."""
        nearest = np.argsort(away, axis=1, kind="stable")[:, : self.neighbours]
        near = np.take_along_axis(away, nearest, axis=1)
        if self.soft:
            weights = 1.0 / np.maximum(np.log1p(near), _SAME)
        else:  # only differences matter: with many layers every distance is so large that its exp alone would be 0
            weights = np.exp(-self.beta * (near - near.min(axis=1, keepdims=True)))
        weights /= weights.sum(axis=1, keepdims=True)
        mixed = np.einsum("qj,qjd->qd", weights, communities.astype(np.float64)[nearest], optimize=True)
        return np.asarray(mixed, dtype=np.float32)


def _distances(latest: Updates, communities: Models, setting: Setting) -> Square:
    both = np.concatenate([latest, communities])
    layers = setting.layers or ((0, both.shape[1]),)
    square: Square = trusted.function(both, layers, center=latest.mean(axis=0))
    return square[: len(latest), len(latest) :]
