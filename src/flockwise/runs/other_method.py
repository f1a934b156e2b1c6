"""A run that goes on with another method, or with other options: what of its state still fits."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from flockwise.config import Config
from flockwise.config.resolving import rule_of
from flockwise.errors import ConfigError
from flockwise.messages import Event
from flockwise.notes import Shapes
from flockwise.options import noted, shown
from flockwise.registry import OWN
from flockwise.stages.method import Method
from flockwise.stages.state import State
from flockwise.strategies.finding import find_strategy
from flockwise.types import Models


def with_models(state: State, first: Models) -> State:
    """The state with as many models as the method starts from; those that are missing are new."""
    missing = first[len(state.models) :]
    if not len(missing) or state.models.shape[1] != first.shape[1]:
        return state
    return replace(state, models=np.concatenate([state.models, missing.astype(np.float32)]))


def fitting(
    state: State, before: Config, now: Config, method: Method | None, directory: Path | None
) -> tuple[State, list[Event]]:
    """The state without memories that only the method before can read, and events that say so.

    A ConfigError if the same method goes on with an option that what it remembers was shaped by.
    """
    events = []
    for section, name, option, memory, value in _shaped(before, directory):
        if memory not in state.memory:
            continue
        other, options = _now(now, method, section)
        if other == name and options.get(option, value) != value:
            raise ConfigError(
                f"{section}.{option} = {shown(options[option])}: must stay {shown(value)} after round {state.round}: what "
                f"{name} remembers has its shape; go on with {shown(value)}, or begin a new run"
            )
        if other != name:
            state = replace(state, memory={key: held for key, held in state.memory.items() if key != memory})
            events.append(Event("forgotten", f"memory {memory!r} is of {name}, and starts anew"))
    return state, events


def _shaped(config: Config, directory: Path | None) -> Iterator[tuple[str, str, str, str, Any]]:
    """Section, piece, option, memory and value of every option that a memory is shaped by."""
    for section in ("strategy", "aggregation"):
        said = getattr(config, section)
        if said.name == OWN:
            continue
        found = (
            find_strategy(said.name, directory) if section == "strategy" else rule_of(config, directory).piece
        )
        for option, note in noted(found.function, Shapes):
            if option in said.parameters:
                yield section, said.name, option, note.memory, said.parameters[option]


def _now(config: Config, method: Method | None, section: str) -> tuple[str, Any]:
    if method is not None and section == "strategy":
        return method.name, method.options
    said = getattr(config, section)
    return said.name, said.parameters
