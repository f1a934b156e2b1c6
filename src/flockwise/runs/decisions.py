"""What people decided about clients, by name, from month to month: who skips one comes back as who left."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from flockwise.messages import Event
from flockwise.runs.handle import Run
from flockwise.stages.state import CONFIRMED, FREE, QUARANTINED, State
from flockwise.store.requests import pending
from flockwise.types import Clients

DECIDED = "set_apart"  # in environment.json: those that a person set apart, here or gone
_STATES = {"quarantined": QUARANTINED, "confirmed": CONFIRMED}
_BY = {"quarantine": "quarantined", "confirm": "confirmed", "confirmed": "confirmed"}


def decided(parent: Run, old: State) -> dict[str, str]:
    """Names of clients that are set apart for good, or by a person, at the state that a run goes on from.

    A quarantine by the method itself is no decision: whoever comes back is looked at again.
    """
    names = {int(row["client"]): str(row["name"]) for row in parent.clients}
    before = parent.environment.get(DECIDED)
    found = {
        str(name): word
        for name, word in (before.items() if isinstance(before, dict) else ())
        if isinstance(word, str) and word in _STATES
    }
    for event in parent.events:
        if event.round > old.round or event.client not in names:
            continue
        if event.kind == "released":
            found.pop(names[event.client], None)
        elif event.kind == "confirmed" or (event.kind == "quarantine" and "request" in event.detail):
            found[names[event.client]] = _BY[event.kind]
    for client, name in names.items():
        if client < old.clients and old.apart[client] == FREE:
            found.pop(name, None)  # released since, by whomever
        elif client < old.clients and old.apart[client] == CONFIRMED:
            found[name] = "confirmed"
    for wish in pending(parent.path):
        name = names.get(wish["client"], "")
        found.pop(name, None)
        if name and wish["action"] in _BY:
            found[name] = _BY[wish["action"]]
    return found


def come_back(
    state: State, names: Sequence[str], before: Clients, words: Mapping[str, str]
) -> tuple[State, list[Event]]:
    """The state with those set apart who were away and are back, and that it is so."""
    apart, events = np.array(state.apart), []
    for client in np.flatnonzero(before < 0).tolist():
        word = words.get(names[client])
        if word is not None:
            apart[client] = _STATES[word]
            kind = "confirmed" if word == "confirmed" else "quarantine"
            events.append(Event(kind, f"was {word} before it was away, and still is", client))
    return replace(state, apart=apart), events


def still_decided(words: Mapping[str, str]) -> dict[str, Any]:
    """For the record of the new run."""
    return {DECIDED: dict(words)} if words else {}
