"""Month after month: a new run from the flock models and the memory of another, with new data and other clients."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from flockwise.config import Config, parse_config
from flockwise.data import Federation
from flockwise.engine import Engine, Opener
from flockwise.errors import ConfigError, InputError
from flockwise.messages import Event
from flockwise.runs.assembly import Brought, assemble
from flockwise.runs.data_check import checked_data
from flockwise.runs.decisions import come_back, decided, still_decided
from flockwise.runs.driving import Callback, ended, kept_by_clients, loop_of, policy_of, told_clients
from flockwise.runs.handle import Run, open_run
from flockwise.runs.matching import Match, matched
from flockwise.runs.objects import federated_sections
from flockwise.runs.other_method import fitting, with_models
from flockwise.runs.provenance import about_data, environment, new_run_path
from flockwise.runs.recorded_config import config_of_run, recorded
from flockwise.runs.same_data import nothing_new
from flockwise.runs.sample_shape import Samples, refuse_other_samples, samples_on_record
from flockwise.runs.settling import begin, give_back, settle, who_came
from flockwise.runs.whereabouts import pointed_at
from flockwise.stages.method import Method
from flockwise.stages.other_clients import for_clients
from flockwise.stages.state import State
from flockwise.store import create_run
from flockwise.store.checkpoint import state_of
from flockwise.store.damage import refuse_damage
from flockwise.store.requests import hand_on
from flockwise.types import Clients, Models

if TYPE_CHECKING:
    from torch import nn

    from flockwise.attacks import Attack
    from flockwise.tasks import Task
    from flockwise.training import Recipe

FOLLOW = 0.1  # how much better a known client must do in another flock to move there


def continue_run(
    path: str | Path, clients: Federation | None = None, *, more: int | None = None, overrides: Iterable[str] = (),
    match: Match = "name", follow: float | None = FOLLOW, at: int | None = None, out: str | Path | None = None,
    data: str | Path | None = None, model: "nn.Module | Callable[..., nn.Module] | None" = None,
    method: Method | None = None, attack: "Attack | None" = None, engine: Engine | Opener | None = None,
    training: "Recipe | None" = None, task: "Task | None" = None,
    on_round: Callback | None = None, stop: Callable[[], bool] = lambda: False,
) -> Run:  # fmt: skip
    """Start a new run from the flock models and the memory of another: next month's data, new clients, fewer clients.

        february = continue_run("runs/january", clients, more=20, out="runs/february")

    Clients are who they were by `match`: their name, or their number. Those that are new join the flock whose model does
    best on their validation data; a known one moves if it does better elsewhere by `follow` (None: all stay). Rounds are
    counted on, `more` of them: as many as the run before had, if not given. `data` is the folder with the new data;
    `overrides` change its config, as `split.clients=...` or `strategy.name=...`; a module, method or attack that it was
    given in Python is given again. The other run is only read. The first round on record is its last one: how its
    models do on the new data, untrained.
    """
    parent = open_run(path)
    refuse_damage(Path(path))
    saved = parent.checkpoint(at)
    old = state_of(saved, Path(path))
    directory = Path(parent.environment.get("directory", "."))
    config = _config(parent, old.round, clients, model, more, list(overrides), directory)
    config, sets = pointed_at(config, data, directory)
    target = Path(out) if out is not None else new_run_path(config)
    before: Clients = np.zeros(0, np.int64)
    forgotten: list[str] = []
    back: list[Event] = []
    lost: list[Event] = []
    words = decided(parent, old) if match == "name" else {}

    def state_for(federation: Federation, first: Models) -> State:
        nonlocal before, forgotten, back, lost
        refuse_other_samples(parent, federation)
        before = matched(parent, federation.names, match, old.clients)
        state, forgotten = for_clients(old, before)
        state, lost = fitting(state, config_of_run(parent, directory), config, method, directory)
        state, back = come_back(state, federation.names, before, words)
        return with_models(state, first)

    brought = Brought(clients, model, method, attack, engine, training, task)
    known = samples_on_record(parent)
    parts = assemble(config, state_for, directory=directory, data=sets, brought=brought, known=known)
    try:
        found = checked_data(parts.federation, config.data.check)
        about = {
            **environment(config, directory), **about_data(parts.federation),
            "parent": str(Path(path).resolve()), "continued_at": old.round, **still_decided(words),
        }  # fmt: skip
        with create_run(target, config.written(), about, policy_of(config)) as writer:
            told_clients(writer, parts)
            lost += give_back(parts.engine, kept_by_clients(saved), before)
            loop = loop_of(config, parts, writer, on_round, stop)
            events = [
                *found,
                *nothing_new(parent, about, before),
                *who_came(parent, parts, before, forgotten),
                *back,
                *lost,
            ]
            events += settle(
                parts.server,
                lambda plan: parts.hazards.scores(parts.engine.validate(plan), plan, parts.server),
                old,
                follow,
            )
            begin(loop, events)
            hand_on(Path(path), target, before)
            loop.run(config.rounds)
    finally:
        parts.engine.close()
    return ended(target)


def _config(
    parent: Run, last: int, clients: Federation | None, model: Any, more: int | None, overrides: list[str],
    directory: Path,
) -> Config:  # fmt: skip
    """The parent's config with what is different now, and with the round to which the new run goes."""
    before = config_of_run(parent, directory)
    content = recorded(parent.config, directory)
    if clients is not None:
        content |= federated_sections(clients, before.seed)
    if model is None and before.model.name == "own":
        raise InputError(
            "model: this run's model was given in Python; pass a module of its kind, as model=..."
        )
    goals = [said for said in overrides if said.partition("=")[0].strip() == "rounds"]
    if goals and more is not None:
        raise ConfigError(f"more = {more}: cannot go with {goals[0]}; leave one of them out")
    if more is not None and more < 1:
        raise ConfigError(f"more = {more}: must be at least 1")
    if not goals:
        began = parent.environment.get("continued_at", 0)
        span = (parent.goal or before.rounds) - (began if type(began) is int else 0)
        overrides = [*overrides, f"rounds={last + (more or max(span, 1))}"]
    config = parse_config(content, overrides, directory)
    if config.rounds <= last:
        raise ConfigError(
            f"rounds = {config.rounds}: must be above {last}, the round that the run before came to"
        )
    return _as_known(config, samples_on_record(parent))


def _as_known(config: Config, known: Samples | None) -> Config:
    """A folder is read as the models know it, on whatever machine: by their classes, scaled as before."""
    options = config.data.parameters
    told: dict[str, Any] = {}
    if known is not None and known.class_names and options.get("classes", "") is None:
        told["classes"] = list(known.class_names)
    if known is not None and known.prepared is not None and options.get("fitted", "") is None:
        told["fitted"] = known.prepared.fitted
    return config.model_copy(update={"data": config.data.model_copy(update=told)}) if told else config
