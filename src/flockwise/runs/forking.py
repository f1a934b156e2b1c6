"""Another way from the middle of a run: a new run from one of its checkpoints."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from flockwise.config import parse_config
from flockwise.data import Federation
from flockwise.engine import Engine, Opener
from flockwise.errors import ConfigError
from flockwise.messages import Event
from flockwise.runs.assembly import Brought, assemble
from flockwise.runs.driving import Callback, ended, kept_by_clients, loop_of, policy_of, told_clients
from flockwise.runs.handle import Run, open_run
from flockwise.runs.other_method import fitting, with_models
from flockwise.runs.provenance import about_data, environment, new_run_path
from flockwise.runs.recorded_config import config_of_run, recorded
from flockwise.runs.same_data import refuse_other_data
from flockwise.runs.sample_shape import samples_on_record
from flockwise.runs.settling import give_back
from flockwise.runs.whereabouts import pointed_at
from flockwise.stages.method import Method
from flockwise.store import create_run
from flockwise.store.checkpoint import state_of
from flockwise.store.damage import refuse_damage
from flockwise.store.writer import RunWriter

if TYPE_CHECKING:
    from torch import nn

    from flockwise.attacks import Attack
    from flockwise.tasks import Task
    from flockwise.training import Recipe


def fork(
    path: str | Path, at: int, overrides: Iterable[str] = (), *, out: str | Path | None = None,
    data: str | Path | None = None, clients: Federation | None = None,
    model: "nn.Module | Callable[..., nn.Module] | None" = None, method: Method | None = None,
    attack: "Attack | None" = None, engine: Engine | Opener | None = None, on_round: Callback | None = None,
    stop: Callable[[], bool] = lambda: False, training: "Recipe | None" = None,
    task: "Task | None" = None,
) -> Run:  # fmt: skip
    """Start a new run from a checkpoint of another one, with another method, rule or training from there on."""
    parent = open_run(path)
    refuse_damage(Path(path))
    directory = Path(parent.environment.get("directory", "."))
    before = config_of_run(parent, directory)
    config = parse_config(recorded(parent.config, directory), overrides, directory)
    for section in ("data", "split", "model", "seed"):
        if getattr(config, section) != getattr(before, section):
            raise ConfigError(
                f"{section}: cannot change in a fork, the first {at} rounds were trained with it"
            )
    if at >= config.rounds:
        raise ConfigError(
            f"rounds = {config.rounds}: must be above the fork's round {at}; set rounds to go on after it, such as "
            f"rounds={2 * at}"
        )
    saved = parent.checkpoint(at)
    target = Path(out) if out is not None else new_run_path(config)
    brought = Brought(clients, model, method, attack, engine, training, task)
    state, lost = fitting(state_of(saved, Path(path)), before, config, method, directory)
    config, sets = pointed_at(config, data, directory)
    parts = assemble(
        config, lambda _, first: with_models(state, first), directory=directory, data=sets, brought=brought,
        known=samples_on_record(parent),
    )  # fmt: skip
    try:
        refuse_other_data(Path(path), parent, parts.federation)
        about = {
            **environment(config, directory), **about_data(parts.federation),
            "parent": str(Path(path).resolve()), "forked_at": at,
        }  # fmt: skip
        lost += give_back(parts.engine, kept_by_clients(saved), np.arange(state.clients))
        with create_run(target, config.written(), about, policy_of(config)) as writer:
            told_clients(writer, parts)
            loop = loop_of(config, parts, writer, on_round, stop)
            _inherit(parent, writer, at, loop.saved())
            writer.events(at, lost)
            loop.run(config.rounds)
    finally:
        parts.engine.close()
    return ended(target)


def _inherit(parent: Run, writer: RunWriter, at: int, saved: Mapping[str, np.ndarray]) -> None:
    """Copy the record of the rounds before the fork."""
    names = {parent.scoring.name, "flock", "apart", "trained", "loss", "similarity", "map"}
    arrays = {name: dict(zip(*[part.tolist() if i == 0 else part for i, part in enumerate(parent.array(name))], strict=True))
              for name in names}  # fmt: skip
    policy, writer.policy = writer.policy, replace(writer.policy, every=10**9, at=frozenset())
    for place, round in enumerate(parent.rounds.tolist()):
        if round > at:
            break
        facts = {
            name: float(values[place])
            for name, values in parent.facts.items()
            if values[place] == values[place]
        }
        kept = {name: held[round] for name, held in arrays.items() if round in held}
        events = [Event(e.kind, e.message, e.client, e.detail) for e in parent.events if e.round == round]
        # The checkpoint comes last: a fork that has it has everything (see `resume`).
        writer.commit(
            round, float(parent.seconds[place]), facts, kept, events, lambda: saved, last=round == at
        )
    writer.policy = policy
