"""The stage in which clients train."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from flockwise.messages import Event, Plan, Replies, Task, root_for
from flockwise.stages.attribution import Attribution, own_flock
from flockwise.stages.batch import Batch, batch_of
from flockwise.stages.sampling import Draw, sample
from flockwise.stages.stage import REPLIES, Round, Stage, Steps
from flockwise.stages.state import UNPLACED, Slot
from flockwise.types import Clients, Vector


class Heard(NamedTuple):
    """Who answered when somebody last did."""

    clients: Clients


HEARD = Slot("batch", Heard, brief=True)


def train(draw: Draw = sample, send: Attribution = own_flock) -> Stage:
    """The drawn clients train what they are sent; their replies are there for the stages that follow.

    A round in which no reply can be used is passed over by all stages that need replies.
    """

    def run(round: Round) -> Steps:
        plan = _plan(round, draw(round), send)
        admitted = yield plan
        round = round.noted(events=admitted.rejected)
        replies, roots = _split(plan, admitted.replies)
        batch = batch_of(plan, replies)
        round = _counted(round, batch)
        if round.with_root and not set(batch.rows.tolist()) <= roots.keys():
            return _skipped(round, "no update on the server's own data")
        if not len(batch.clients):
            return _skipped(round, "nobody's reply")
        return _picked(round.to(round.state, batch=batch, roots=roots), plan, send)

    return Stage("train", run, gives=frozenset({REPLIES}), relabels=False)


def _plan(round: Round, clients: Clients, send: Attribution) -> Plan:
    models, offers = send.offer(round, clients)
    tasks = [Task(client, offer) for client, offer in zip(clients.tolist(), offers, strict=True)]
    if round.with_root:  # the server's own update of each model that is sent
        tasks += [Task(root_for(row), (row,)) for row in sorted({row for offer in offers for row in offer})]
    return Plan(round.number, "train", models, tuple(tasks))


def _split(plan: Plan, replies: Replies) -> tuple[Replies, dict[int, Vector]]:
    """The clients' replies, and the server's own updates by the row of the model they start from."""
    own = replies.clients < 0
    if not own.any():
        return replies, {}
    pairs = zip(replies.clients[own].tolist(), replies.updates[own], strict=True)
    return replies.rows(~own), {plan.offers[address][0]: update for address, update in pairs}


def _counted(round: Round, batch: Batch) -> Round:
    """Who trained, with which loss; a second training in a round adds to the first."""
    clients = round.state.clients
    trained = round.arrays.get("trained", np.zeros(clients, dtype=bool)).copy()
    trained[batch.clients] = True
    losses = round.arrays.get("loss", np.full(clients, np.nan)).copy()
    losses[batch.clients] = batch.replies.losses
    return round.noted(arrays={"trained": trained, "loss": losses})


def _skipped(round: Round, missing: str) -> Round:
    told = Event("skipped", f"{missing} could be used; models are unchanged")
    return round.noted(events=[told]).to(round.state, batch=None, roots={})


def _picked(round: Round, plan: Plan, send: Attribution) -> Round:
    """Clients that had a choice are where they chose to be."""
    state, batch = round.state, round.replies
    labels = send.relabel(state, batch, [plan.offers[client] for client in batch.clients.tolist()])
    moved = labels is not state.labels
    state = HEARD.put(replace(state, labels=labels) if moved else state, Heard(batch.clients))
    if not moved:
        return round.to(state)
    before = round.state.labels[batch.clients]
    new = batch.clients[(before == UNPLACED) & (labels[batch.clients] != UNPLACED)]
    events = [
        Event("placed", f"placed in flock {labels[client]}", client, {"flock": int(labels[client])})
        for client in new.tolist()
    ]
    return round.noted(events=events).to(state)
