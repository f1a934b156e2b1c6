"""The stages that build flocks from single clients up, and keep the flocks' models from drifting apart."""

from dataclasses import replace

import numpy as np

from flockwise.messages import Event
from flockwise.similarity import cosine
from flockwise.stages.evidence import EvidenceSource
from flockwise.stages.sampling import Draw
from flockwise.stages.stage import REPLIES, Round, Stage, stage
from flockwise.stages.state import UNPLACED, State, flocks_in
from flockwise.stages.timing import FOUND, Looked
from flockwise.types import Labels, Vector


def merge_alike(evidence: EvidenceSource, threshold: float, draw: Draw) -> Stage:
    """Flocks of the clients drawn are merged where the means of what is known of these point alike (cosine).

    A client that is known and in no flock is a flock of its own first, with the mean of all flocks' models. The flock with
    most members keeps its number and its model.
    """

    def run(round: Round) -> Round:
        state, known = round.state, evidence.known(round)
        if FOUND.get(state) is None:  # nobody belongs to anybody yet
            state = replace(state, labels=np.full(state.clients, UNPLACED))
        drawn = np.isin(known.clients, draw(round))
        clients, rows = known.clients[drawn], known.rows[drawn]
        if not len(clients):
            return round
        before = state.labels
        state = _each_placed(state, clients)
        here, homes = np.unique(state.labels[clients], return_inverse=True)
        means = np.stack([rows[homes == home].mean(axis=0) for home in range(len(here))])
        merged = state.labels.copy()
        for group in _joined(cosine(means) >= threshold):
            sizes = [int(np.sum(state.labels == here[home])) for home in group]
            merged[np.isin(state.labels, here[group])] = here[group[int(np.argmax(sizes))]]
        state = FOUND.put(replace(state, labels=merged), Looked(round.number))
        if not np.array_equal(merged, before):
            counts = np.unique(merged[merged != UNPLACED], return_counts=True)[1].tolist()
            told = f"{len(counts)} flocks among {sum(counts)} clients"
            round = round.noted(events=[Event("flocks", told, detail={"sizes": counts})])
        return round.to(state)

    return stage("merge flocks that are alike", run)


def _each_placed(state: State, clients: np.ndarray) -> State:
    """Newcomers as flocks of their own, which begin from the mean of all."""
    new = clients[state.labels[clients] == UNPLACED]
    if not len(new):
        return state
    begin, labels = joint_model(state), state.labels.copy()
    used = set(flocks_in(labels).tolist())
    spare = [number for number in range(len(used) + len(new)) if number not in used][: len(new)]
    labels[new] = spare
    rows = max(max(spare) + 1, len(state.models))
    models = np.concatenate([state.models, np.repeat(begin[None], rows - len(state.models), axis=0)])
    models[spare] = begin
    return replace(state, labels=labels, models=models)


def _joined(alike: np.ndarray) -> list[list[int]]:
    """Groups of those that are alike, or alike to one that is, ...; in order of their first."""
    groups: list[list[int]] = []
    left = list(range(len(alike)))
    while left:
        group = [left.pop(0)]
        for member in group:
            near = [other for other in left if alike[member, other]]
            group += near
            left = [other for other in left if other not in near]
        groups.append(sorted(group))
    return groups


def joint_model(state: State) -> Vector:
    """The mean of all free clients' models; the first model while nobody is in a flock."""
    labels: Labels = state.labels[state.free & (state.labels != UNPLACED)]
    if not len(labels):
        first: Vector = state.models[0]
        return first
    shares = np.bincount(labels, minlength=len(state.models)) / len(labels)
    return np.asarray(shares @ state.models.astype(np.float64), dtype=np.float32)


def pull_together(share: float) -> Stage:
    """Every flock's model goes this share of the way to the mean of all clients' models."""

    def run(round: Round) -> Round:
        state = round.state
        if not share or state.flocks <= 1:
            return round
        models, mean, alive = state.models.copy(), joint_model(state), flocks_in(state.labels)
        models[alive] = (models[alive].astype(np.float64) * (1 - share) + share * mean).astype(np.float32)
        return round.to(replace(state, models=models))

    return stage("pull together", run, [REPLIES], whole="")
