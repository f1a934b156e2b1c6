"""From a config to the live objects of a run."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from flockwise import plugins
from flockwise.attacks import ATTACKS, Attack
from flockwise.config import Config
from flockwise.config.resolving import method_of, rule_of
from flockwise.data import Federation
from flockwise.engine import ClientWork, Engine, Local, Opener
from flockwise.errors import ConfigError, InputError, RunError
from flockwise.models.initial_models import initial_models
from flockwise.registry import OWN
from flockwise.rng import derived_seed, generator
from flockwise.runs.adversary import Adversary, choose_attackers
from flockwise.runs.capacity import kept_whole, refuse_large_round, refuse_too_large
from flockwise.runs.channel import make_channel
from flockwise.runs.federating import (
    OwnModel,
    for_federation,
    make_federation,
    make_work,
    model_factory,
    report_of,
)
from flockwise.runs.hazards import Hazards
from flockwise.runs.known_labels import in_known_numbers
from flockwise.runs.known_tokens import refuse_unknown_tokens
from flockwise.runs.sample_shape import Samples
from flockwise.runs.truth import truth_for
from flockwise.server import Gate, Server
from flockwise.stages.method import Method
from flockwise.stages.sketching import width_for
from flockwise.stages.stage import Setting
from flockwise.stages.state import State
from flockwise.tasks import Task
from flockwise.training import Recipe
from flockwise.types import Models

# By name, so that nothing of an optional engine is imported before it is asked for.
ENGINES: dict[str, str] = {
    "flower": "flockwise.flower.simulated:open_simulation",
    "ray": "flockwise.machines:open_ray",
}


@dataclass(frozen=True)
class Brought:
    """What a user brings in Python, instead of what the config names."""

    clients: Federation | None = None
    model: OwnModel | None = None
    method: Method | None = None
    attack: Attack | None = None
    engine: Engine | Opener | None = None
    recipe: Recipe | None = None
    task: Task | None = None


@dataclass(frozen=True)
class Parts:
    """Everything a run is made of."""

    server: Server
    engine: Engine
    hazards: Hazards
    work: ClientWork

    @property
    def federation(self) -> Federation:
        """Who holds what."""
        return self.work.federation


def assemble(
    config: Config, state: State | Callable[[Federation, Models], State] | None = None, *, directory: Path | None = None,
    data: str | Path | None = None, brought: Brought | None = None, known: Samples | None = None,
) -> Parts:  # fmt: skip
    """Build every part; what the user brought replaces what the config names. A state may depend on who is there,
    and on the models that the method would begin with.

    `known` is what samples of the run that goes on are like: labels keep their numbers.
    """
    brought = brought or Brought()
    data = None if data is None else Path(data)
    method = brought.method or method_of(config, directory)
    if config.engine.name == "flower" and brought.engine is None and (brought.clients or brought.model):
        raise ConfigError("engine.name = 'flower': nodes need data and model by name, as module:function")
    federation = in_known_numbers(brought.clients or make_federation(config, directory, data), known)
    method = for_federation(method, federation)
    adversary = make_adversary(config, federation.clients, directory, brought.attack)
    work = make_work(
        config,
        directory,
        data,
        federation=federation,
        model=brought.model,
        adversary=adversary,
        report=report_of(method),
        personal=method.personal,
        recipe=brought.recipe,
        task=brought.task,
    )
    setting = _setting(config, method, work, adversary)
    width = width_for(setting, method.round, federation.clients, work.travel.size)
    refuse_too_large(method, federation.clients, work.travel.size, width)
    asked = math.ceil(config.sampling.fraction * federation.clients)
    engine = brought.engine or engine_of(config, directory, data)
    whole = kept_whole(method, width, adversary.attack if adversary else None, engine)
    refuse_large_round(asked, work.travel.size, config.sampling.fraction, whole)
    first = first_models(config, work, method, directory, brought.model)
    _finite(work)
    refuse_unknown_tokens(work.module, work.federation.dataset)
    if callable(state):
        state = state(work.federation, first)
    if state is not None:
        _same_run(state, work.federation.clients, work.travel.size)
    gate = Gate(work.travel.size, config.gate.max_norm, scoring=setting.scoring)
    server = Server(method, first, work.federation.clients, setting=setting, gate=gate, state=state)
    if not isinstance(engine, Engine):
        engine = engine.open(work, most_models=method.models + work.federation.clients + 64)
    channel = make_channel(config, work.federation.sizes("train"))
    return Parts(server, engine, Hazards(adversary, channel), work)


def _setting(config: Config, method: Method, work: ClientWork, adversary: Adversary | None) -> Setting:
    travel, liars = work.travel, adversary.clients if adversary else frozenset()
    return Setting(
        config.seed, config.sampling.fraction, travel.layers, travel.learned, config.gate.weight_cap,
        truth_for(method, work.federation, work.later, config.faults.drift_round, liars), work.task.scoring,
        config.evidence.sketch,
    )  # fmt: skip


def engine_of(config: Config, directory: Path | None, data: Path | None) -> Opener:
    """The engine that the config names, not yet open."""
    if config.engine.name == "local":
        return Local(config.engine.workers)
    opener: Opener = plugins.find("engines", ENGINES[config.engine.name], {})(config, directory, data)
    return opener


def first_models(
    config: Config, work: ClientWork, method: Method, directory: Path | None, model: OwnModel | None = None
) -> Models:
    """The models a method starts from, what of them travels."""
    layout, travel = work.travel.layout, work.travel
    if isinstance(model, nn.Module):  # there is only this one; methods of several models need others
        rng = generator(config.seed, "beginnings")
        return np.stack(
            [travel.part(m) for m in initial_models(layout.entries, work.first, method.models, rng)]
        )
    make = model_factory(config, work.federation, directory, model, work.task)
    seeds = [derived_seed(config.seed, "model", i) for i in range(1, method.models)]
    return np.stack([travel.part(m) for m in (work.first, *(layout.read(make(seed)) for seed in seeds))])


def make_adversary(
    config: Config, clients: int, directory: Path | None, attack: Attack | None = None
) -> Adversary | None:
    """The attackers of the config, if any; `attack` is one that the user brought."""
    if config.attack.name == "none":
        return None
    if attack is None and config.attack.name == OWN:
        raise ConfigError(
            "attack.name = 'own': this run was given its attack in Python; pass it again, as in "
            "flockwise.resume(path, attack=...)"
        )
    if attack is None:
        found: Callable[..., Any] = plugins.find("attacks", config.attack.name, ATTACKS, directory)
        try:
            with plugins.running(f"attack.name = {config.attack.name!r}", found):
                attack = found(**config.attack.parameters)
        except InputError as error:
            raise ConfigError(f"attack.{error}") from error
        if not isinstance(attack, Attack):
            raise ConfigError(
                f"attack.name = {config.attack.name!r}: made a {type(attack).__name__}, not an UpdateAttack or a DataAttack"
            )
    section = config.aggregation
    knowledge = {"f": section.attackers, **section.parameters}
    chosen = choose_attackers(config, clients)
    rule = None if section.name == OWN else rule_of(config, directory)
    return Adversary(attack, chosen, config.seed, config.attack.first_round, section.name, knowledge, rule)  # type: ignore[arg-type]


def _finite(work: ClientWork) -> None:
    """Refuse a model that could never learn: every update of it would be NaN, and rejected."""
    for entry in work.travel.layout.entries:
        if not np.isfinite(work.first[entry.start : entry.stop]).all():
            raise InputError(
                f"model: {entry.name} holds NaN or infinite values before any training; check how it is initialised"
            )


def _same_run(state: State, clients: int, parameters: int) -> None:
    if state.clients != clients:
        raise RunError(
            f"this run has {state.clients} clients, not {clients}: it belongs to another federation"
        )
    if state.models.shape[1] != parameters:
        raise RunError(
            f"this run's models have {state.models.shape[1]} numbers, not {parameters}: it belongs to another model"
        )
