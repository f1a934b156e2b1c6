"""How a continuation begins: who is new or gone, who belongs to which flock now, and how the old models do."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from flockwise.engine import Engine
from flockwise.messages import Event, Plan, RoundRecord, Scores, Task, bound
from flockwise.runs.assembly import Parts
from flockwise.runs.handle import Run
from flockwise.runs.loop import Loop
from flockwise.server import Server
from flockwise.stages.other_clients import rows_for
from flockwise.stages.place import settled
from flockwise.stages.state import FREE, UNPLACED, State, all_alike, flocks_in
from flockwise.types import Clients, Mask


def give_back(engine: Engine, kept: Mapping[str, np.ndarray], before: Clients) -> list[Event]:
    """Give clients that stay what they had kept to themselves; those that are new have what the engine made for them.

    What another method had them keep, in another shape, is of no use: an event says that it is forgotten.
    """
    fresh = engine.kept().get("own")
    back = {name: array for name, array in kept.items() if name != "own"}  # what all clients share
    fits = "own" in kept and fresh is not None and fresh.shape[1:] == kept["own"].shape[1:]
    if fits and fresh is not None:
        back["own"] = np.where((before >= 0)[:, None], rows_for(kept["own"], before, 0), fresh)
    engine.restore(back)
    if fits or "own" not in kept:
        return []
    return [
        Event(
            "forgotten", "what clients kept to themselves is of another method, and is of no use to this one"
        )
    ]


def who_came(parent: Run, parts: Parts, before: Clients, forgotten: list[str]) -> list[Event]:
    """Who is new, and who is gone."""
    names = parts.federation.names
    known = {int(row["client"]): str(row["name"]) for row in parent.clients}
    gone = sorted(set(known) - set(before.tolist()))
    came = np.flatnonzero(before < 0).tolist()
    told = f"goes on from round {parts.server.round} of {parent.path.name}: {len(before) - len(came)} clients"
    detail = {"new": [names[client] for client in came], "gone": [known[client] for client in gone]}
    events = [Event("continued", f"{told} of before, {len(came)} new, {len(gone)} gone", detail=detail)]
    events += [Event("joined", "is new", client) for client in came]
    return events + starts_anew(forgotten)


def starts_anew(forgotten: Iterable[str]) -> list[Event]:
    """Which memories of the run before are of no use for other clients."""
    told = "memory {!r} does not say which client is which, and starts anew"
    return [Event("forgotten", told.format(name)) for name in forgotten]


def settle(
    server: Server,
    ask: Callable[[Plan], Sequence[Scores]],
    old: State,
    follow: float | None,
    present: Mask | None = None,
) -> list[Event]:
    """Place newcomers, and move whoever does better elsewhere, by their own validation data; `ask` asks them.

    Nobody is asked who is not there, where `present` says who is.
    """
    state, alive = server.state, flocks_in(old.labels[old.free])
    if len(alive) == 1:
        labels = np.where(state.free & (state.labels == UNPLACED), alive[0], state.labels)
        server.state = replace(state, labels=labels)
    if len(alive) < 2 or all_alike(state.models[alive]):
        return []  # nothing to choose between
    asked = state.free if follow is not None else state.free & (state.labels == UNPLACED)
    asked = asked if present is None else asked & present
    rows = tuple(range(len(alive)))
    tasks = tuple(Task(int(client), rows) for client in np.flatnonzero(asked))
    if not tasks:
        return []
    plan = Plan(server.round, "validate", state.models[alive], tasks)
    verdict = server.gate.admit(plan, bound(ask(plan)))
    server.state, events = settled(state, alive, verdict.admitted, follow or 0.0, server.setting.scoring)
    return [
        *events,
        *(Event("rejected", f"reply rejected: {why}", client) for client, why in verdict.rejected),
    ]


def begin(loop: Loop, events: list[Event]) -> None:
    """Put the state that the run begins with on record: tested, before any training, with a checkpoint to resume from."""
    server, engine = loop.server, loop.engine
    state = server.state
    saved = {**state.to_arrays(), **{f"clients/{name}": array for name, array in engine.kept().items()}}
    facts = {"flocks": float(state.flocks), "apart": float(np.sum(state.apart != FREE)), "participants": 0.0}
    arrays = {
        "flock": state.labels, "apart": state.apart, "trained": np.zeros(state.clients, dtype=bool),
        "loss": np.full(state.clients, np.nan),
    }  # fmt: skip
    tested = loop.test() if loop.evaluate_every else None
    full = loop.record(RoundRecord(server.round, facts, arrays, ()), tested, events)
    loop.writer.commit(full.round, 0.0, full.facts, full.arrays, full.events, saved, last=True)
