"""Clients that were not heard when flocks were found join the one whose members they are like, where updates are sketched.

Updates can be compared if they start from one model, and flocks have parted from it since. So the model that the last of
those compared had trained is kept, and with it the mean sketch of each flock; single sketches are not needed any more. A
newcomer trains that model once, when it first takes part: its sketch says where it belongs, as it would have among the
others. That round's update is of no flock's model, and is not averaged.

For methods that compare all clients on updates of one model: FLIC, FL+HC, and custom ones that look for flocks once or in
rounds of all clients. Where flocks are split again and again (CFL, Shepherd), each came from another model.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from flockwise.clustering.crowd import directions, directions_of, most_alike, sums_by
from flockwise.messages import Event
from flockwise.stages.attribution import Attribution, Offers, own_flock
from flockwise.stages.batch import Batch
from flockwise.stages.evidence import EvidenceSource
from flockwise.stages.place import MOST_TOLD, together
from flockwise.stages.sketching import sketched, sketcher_of
from flockwise.stages.stage import REPLIES, Round, Setting, Stage, stage
from flockwise.stages.state import UNPLACED, Slot, State, flocks_in
from flockwise.stages.timing import FOUND, Timing
from flockwise.types import Clients, Labels, Mask, Models, Rows, Updates, Vector


class Met(NamedTuple):
    """What newcomers are compared with."""

    model: Vector  # that they train once
    center: Vector  # the mean of all sketches
    means: Updates  # (flocks, width) each flock's mean from there, or its direction
    kind: np.ndarray  # of the sketches: others cannot be compared with these
    compared: Mask  # (clients,) who is no newcomer


_MET = Slot("newcomers", Met, {"compared": False})


@dataclass(frozen=True)
class Newcomers:
    """Sends newcomers the model that they are compared by, and everyone else what is usual.

    `keep` comes after flocks are found, `join` after training and before anything is averaged. They are compared by cosine
    or, where flocks are, by distance.
    """

    evidence: EvidenceSource
    look: Timing  # by which flocks are found; who splits one off at other times knows nothing of the others
    usual: Attribution = own_flock
    by_distance: bool = False

    def assign(self, state: State, setting: Setting) -> tuple[Models, Rows]:
        """As usual."""
        return self.usual.assign(state, setting)

    def offer(self, round: Round, clients: Clients) -> tuple[Models, Offers]:
        """One more model, for newcomers, if there are any."""
        models, offers = self.usual.offer(round, clients)
        met = _met(round)
        if met is None or met.compared[clients].all():
            return models, offers
        known = met.compared[clients].tolist()
        one_more = [offer if old else (len(models),) for offer, old in zip(offers, known, strict=True)]
        return np.concatenate([models, met.model[None]]), one_more

    def relabel(self, state: State, batch: Batch, offers: Sequence[tuple[int, ...]]) -> Labels:
        """As usual."""
        return self.usual.relabel(state, batch, offers)

    @property
    def keep(self) -> Stage:
        """In the round in which flocks are found: what newcomers will be compared with."""

        def run(round: Round) -> Round:
            state, found = round.state, FOUND.get(round.state)
            sketcher = sketcher_of(round.setting, state.clients, state.models.shape[1])
            due = (
                self.look.look(round.start, round.number)
                and found is not None
                and found.round == round.number
            )
            if sketcher is None or not due or state.flocks < 2:
                return round
            known = self.evidence.known(round)
            known = known.of(np.flatnonzero(state.labels[known.clients] != UNPLACED))
            rows = known.rows
            center = rows.mean(axis=0, dtype=np.float64).astype(np.float32)
            means = self._means(rows, state.labels[known.clients], center)
            compared = np.zeros(state.clients, dtype=bool)
            compared[known.clients] = True
            model = round.replies.models[round.replies.rows[0]].copy()
            return round.to(_MET.put(state, Met(model, center, means, np.array(sketcher.kind), compared)))

        return stage("keep what newcomers are compared with", run, self._needs, whole="")

    @property
    def join(self) -> Stage:
        """Newcomers that have trained are where they belong; the others' replies go on."""

        def run(round: Round) -> Round:
            met, batch, state = _met(round), round.replies, round.state
            if met is None or met.compared[batch.clients].all():
                return round
            sketcher = sketcher_of(round.setting, state.clients, state.models.shape[1])
            assert sketcher is not None
            new = ~met.compared[batch.clients]
            clients, rest = batch.clients[new], batch.of(~new)
            found = most_alike(
                self._asked(sketched(batch.of(new), sketcher) - met.center), self._answers(met.means)
            )
            # A flock that is gone, or was set apart, takes nobody in: who is like it looks on by other means.
            alive = np.isin(found, flocks_in(state.labels[state.free]))
            labels, compared = state.labels.copy(), met.compared.copy()
            labels[clients], compared[clients] = np.where(alive, found, UNPLACED), True
            told = _told(clients, state.labels[clients], labels[clients])
            state = _MET.put(replace(state, labels=labels), met._replace(compared=compared))
            return round.noted(events=told).to(state, batch=rest if len(rest.clients) else None)

        return stage("newcomers join", run, [REPLIES], whole="")

    def _means(self, rows: Updates, labels: Labels, center: Vector) -> Updates:
        if not self.by_distance:
            return directions_of(directions(rows), labels)
        sizes = np.maximum(np.bincount(labels), 1)[:, None]
        return (sums_by(rows, labels) / sizes - center).astype(np.float32)

    def _asked(self, rows: Updates) -> Updates:
        """Whoever is nearest has the largest x y - y y / 2: one more column makes it a product."""
        return np.pad(rows, ((0, 0), (0, 1)), constant_values=1.0) if self.by_distance else rows

    def _answers(self, means: Updates) -> Updates:
        half = (means**2).sum(axis=1, keepdims=True) / 2
        return np.concatenate([means, -half], axis=1) if self.by_distance else means

    @property
    def _needs(self) -> list[object]:
        return [REPLIES, *self.evidence.needs]


def _met(round: Round) -> Met | None:
    """What newcomers are compared with, if sketches are still of that kind."""
    met, state = _MET.get(round.state), round.state
    sketcher = met and sketcher_of(round.setting, state.clients, state.models.shape[1])
    return met if met and sketcher and tuple(met.kind.tolist()) == tuple(sketcher.kind) else None


def _told(clients: Clients, before: Labels, after: Labels) -> Sequence[Event]:
    """Where newcomers went; some had been placed by their validation data."""
    events = []
    for client, old, new in zip(clients.tolist(), before.tolist(), after.tolist(), strict=True):
        if old == UNPLACED and new != UNPLACED:
            events.append(Event("placed", f"resembles flock {new} most", client, {"flock": new}))
        elif UNPLACED not in (old, new) and old != new:
            told = f"moved from flock {old} to {new}, which it resembles most"
            events.append(Event("moved", told, client, {"from": old, "to": new}))
    return events if len(events) <= MOST_TOLD else together(events, "by what they resemble")
