"""A server's state for other clients: those that stay keep what they had, new ones have nothing yet."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from flockwise.stages.state import FREE, SLOTS, UNPLACED, Slot, State
from flockwise.types import Clients


def for_clients(state: State, before: Clients) -> tuple[State, list[str]]:
    """The state for clients that were number `before[i]`, or -1 if they are new; and the memories that are forgotten.

    Flocks and their models stay, also those that nobody is left of: a newcomer may belong there.
    """
    moved = replace(
        state,
        labels=rows_for(state.labels, before, UNPLACED),
        apart=rows_for(state.apart, before, FREE),
        memory={},
    )
    same = len(before) == state.clients and bool((before == np.arange(state.clients)).all())
    held, forgotten = _memories(state), []
    arrays = moved.to_arrays()
    for name, memory in held.items():
        slot = SLOTS.get(name)
        if slot is not None and slot.brief:
            continue
        if not same and (slot is None or slot.by_client is None):
            forgotten.append(name)
            continue
        kept = memory if same or slot is None else _moved(slot, memory, before)
        arrays |= {f"memory/{name}/{part}": array for part, array in kept.items()}
    return State.from_arrays(arrays), forgotten


def rows_for(array: np.ndarray, before: Clients, fill: float) -> np.ndarray:
    """An array with a row for each client, for other clients."""
    found = np.full((len(before), *array.shape[1:]), fill, dtype=array.dtype)
    stays = before >= 0
    found[stays] = array[before[stays]]
    return found


def _memories(state: State) -> dict[str, dict[str, np.ndarray]]:
    """What is remembered, as arrays by slot."""
    found: dict[str, dict[str, np.ndarray]] = {}
    for key, array in state.to_arrays().items():
        kind, _, name = key.partition("/")
        slot, _, part = name.partition("/")
        if kind == "memory" and part:
            found.setdefault(slot, {})[part] = array
    return found


def _moved(slot: Slot, memory: Mapping[str, np.ndarray], before: Clients) -> dict[str, np.ndarray]:  # type: ignore[type-arg]
    by_client = slot.by_client or {}
    found = {}
    for part, array in memory.items():
        if part in by_client and len(array):  # an array may be empty once it is no longer needed
            array = rows_for(array, before, by_client[part])
            if part in slot.squares:
                array = rows_for(array.T, before, by_client[part]).T
        found[part] = np.ascontiguousarray(array)
    return found
