"""Running, resuming and forking."""

import os
import platform
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from flockwise import __version__
from flockwise.config import Config, parse_config
from flockwise.config.doubts import doubts
from flockwise.config.reading import said_config
from flockwise.data import Federation
from flockwise.engine import Engine, Evaluation, Opener
from flockwise.errors import ConfigError, EngineError, InputError, RunError
from flockwise.messages import Event, RoundRecord
from flockwise.options import written
from flockwise.runs.assembly import Brought, Parts, assemble
from flockwise.runs.data_check import checked_data
from flockwise.runs.handle import Run, open_run
from flockwise.runs.loop import Loop, Progress
from flockwise.runs.naming import as_quality, named
from flockwise.runs.objects import config_of, merged
from flockwise.runs.recorded_config import config_of_run
from flockwise.runs.recording import recorded
from flockwise.runs.same_data import data_marks, refuse_other_data
from flockwise.runs.sample_shape import samples_told
from flockwise.runs.truth import ground_truth
from flockwise.stages.method import Method
from flockwise.store import create_run, reopen_run
from flockwise.store.checkpoint import state_of
from flockwise.store.damage import refuse_damage
from flockwise.store.files import lock
from flockwise.store.policy import CheckpointPolicy
from flockwise.store.writer import RunWriter
from flockwise.strategies.strategy import Strategy

if TYPE_CHECKING:
    from torch import nn

    from flockwise.attacks import Attack
    from flockwise.tasks import Task
    from flockwise.training import Recipe

Callback = Callable[[Progress], object]


def run(
    what: Method | Config | Mapping[str, Any] | str | Path,
    clients: Federation | None = None,
    *,
    model: "nn.Module | Callable[..., nn.Module] | None" = None,
    training: "Recipe | None" = None,
    task: "Task | str | None" = None,
    attack: "Attack | None" = None,
    rounds: int | None = None,
    seed: int | None = None,
    fraction: float | None = None,
    travels: Iterable[str] | None = None,
    trains: Iterable[str] | None = None,
    engine: Engine | Opener | None = None,
    out: str | Path | None = None,
    overrides: Iterable[str] = (),
    data: str | Path | None = None,
    on_round: Callback | None = None,
    stop: Callable[[], bool] = lambda: False,
    directory: str | Path | None = None,
    **sections: Any,
) -> Run:
    """Run a method, or a config (a path, a mapping or a Config), to the end and return the finished run.

        run(flic(warmup=10), clients, model=models.mlp, training=SGD(epochs=3), rounds=30)
        run("my.toml")

    `clients` and `model` bring your own data and module; `rounds`, `seed`, `fraction` (of the clients, a round) and
    further sections of a config (`checkpoint={"every": 5}`) say the rest. `travels` names the tensors that are sent,
    `trains` those that train, if it is not all of them. `task` is what models learn, if it is not classification
    (`fw.tasks.regression()`, or a name).
    `engine` trains: this machine, if not given.
    `on_round` is called after every round; `stop` is asked then, and ends the run at a point from which it can be
    resumed. `directory` is where pieces of your own are looked for: beside the config, or here, if not given.
    """
    _refuse_others(what, clients)
    beside = Path(what).parent if isinstance(what, str | Path) else Path.cwd()
    folder = beside if directory is None else Path(directory)
    brought = Brought(
        clients, model, what if isinstance(what, Method) else None, attack, engine, training, _task(task)
    )
    given = dict(sections) if task is None else merged(sections, {"task": _task_section(task)})
    for section, field, value in (
        (None, "rounds", rounds),
        ("sampling", "fraction", fraction),
        ("model", "travels", None if travels is None else list(travels)),
        ("model", "trains", None if trains is None else list(trains)),
    ):
        if value is not None:
            given = merged(given, {field: value} if section is None else {section: {field: value}})
    config = _as_config(what, brought, training, seed, given, overrides, folder)
    path = Path(out) if out is not None else new_run_path(config)
    parts = assemble(config, directory=folder, data=_path(data), brought=brought)
    try:
        about = {**environment(config, folder), **about_data(parts.federation)}
        found = checked_data(parts.federation, config.data.check)
        with create_run(path, config.written(), about, policy_of(config)) as writer:
            told_clients(writer, parts)
            writer.events(0, [*found, *(Event("note", line) for line in doubts(config))])
            loop_of(config, parts, writer, on_round, stop).run(config.rounds)
    finally:
        parts.engine.close()
    return ended(path)


def _refuse_others(what: object, clients: object) -> None:
    """Refuse what cannot be run, before it fails somewhere below in words of its own."""
    if isinstance(what, Strategy):
        raise InputError(
            f"run({what.name}, ...): is a strategy, not yet a method; call it, as in fw.{what.function.__name__}()"
        )
    if not isinstance(what, Method | Config | Mapping | str | Path):
        raise InputError(
            f"run({type(what).__name__}, ...): must be a method such as fw.flic(), a config as a mapping, or its path"
        )
    if clients is not None and not isinstance(clients, Federation):
        raise InputError(
            f"clients = {type(clients).__name__}: must be a Federation, such as fw.Federation.from_arrays([(x, y), ...])"
        )


def resume(
    path: str | Path, *, data: str | Path | None = None, clients: Federation | None = None,
    model: "nn.Module | Callable[..., nn.Module] | None" = None, method: Method | None = None,
    attack: "Attack | None" = None, engine: Engine | Opener | None = None, on_round: Callback | None = None,
    stop: Callable[[], bool] = lambda: False, rounds: int | None = None, workers: int | None = None,
    training: "Recipe | None" = None, task: "Task | None" = None,
) -> Run:  # fmt: skip
    """Go on with a run from its newest whole checkpoint, to the same bits as if nothing had happened.

    A run that was given its data, module, method, attack, task or optimiser in Python must be given the same again.
    """
    path = Path(path)
    found = open_run(path)
    refuse_damage(path)
    directory = Path(found.environment.get("directory", "."))
    config = config_of_run(found, directory)
    goal = rounds or found.goal or config.rounds
    config = config.model_copy(update={"rounds": goal})
    if workers is not None:
        config = config.model_copy(update={"engine": config.engine.model_copy(update={"workers": workers})})
    with lock(path):  # told before anything is built, if another process is at it
        pass
    newest = found.newest_checkpoint()
    if newest.round < int(found.environment.get("forked_at", found.environment.get("continued_at", 0))):
        raise RunError(
            f"{path}: was stopped while it was being made from another run; delete it, and make it again"
        )
    state = state_of(newest.arrays, path) if newest.arrays else None
    # Nothing of the record is touched before it is clear that the run can go on.
    brought = Brought(clients, model, method, attack, engine, training, task)
    parts = assemble(config, state, directory=directory, data=_path(data), brought=brought)
    try:
        refuse_other_data(path, found, parts.federation)
        with reopen_run(path, policy_of(config)) as writer:
            writer.forget_after(newest.round)
            writer.events(newest.round, newest.passed_over)
            writer.about(goal=str(goal))
            writer.events(newest.round, _other_trainer(found, parts))
            told_clients(writer, parts)
            parts.engine.restore(kept_by_clients(newest.arrays))
            loop_of(config, parts, writer, on_round, stop).run(goal)
    finally:
        parts.engine.close()
    return ended(path)


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
    config = parse_config(parent.config, overrides, directory)
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
    state = state_of(saved, Path(path))
    parts = assemble(config, state, directory=directory, data=_path(data), brought=brought)
    try:
        refuse_other_data(Path(path), parent, parts.federation)
        about = {
            **environment(config, directory), **about_data(parts.federation),
            "parent": str(Path(path).resolve()), "forked_at": at,
        }  # fmt: skip
        with create_run(target, config.written(), about, policy_of(config)) as writer:
            told_clients(writer, parts)
            _inherit(parent, writer, at, saved)
            parts.engine.restore(kept_by_clients(saved))
            loop_of(config, parts, writer, on_round, stop).run(config.rounds)
    finally:
        parts.engine.close()
    return ended(target)


def ended(path: Path) -> Run:
    """The run as it ended; an EngineError if nothing was learned in it, whose record is kept all the same."""
    found = open_run(path)
    if found.state == "failed":
        raise EngineError(f"{path}: failed: {found.about.get('error', 'no reason is on record')}")
    return found


def kept_by_clients(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What of a checkpoint is the clients' own."""
    start = "clients/"
    return {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}


def loop_of(
    config: Config, parts: Parts, writer: RunWriter, on_round: Callback | None, stop: Callable[[], bool]
) -> Loop:
    """The loop of a run."""
    attackers, work = parts.hazards.attackers, parts.work
    truth = [
        ground_truth(federation or work.federation, attackers) for federation in (work.federation, work.later)
    ]

    honest = ~np.isin(np.arange(work.federation.clients), list(attackers))

    def record(closed: RoundRecord, tested: Evaluation | None, events: list[Event]) -> RoundRecord:
        drifted = work.later is not None and closed.round >= config.faults.drift_round
        turned = None if tested is None else as_quality(tested, work.task.scoring)
        full = named(
            recorded(closed, turned, truth[drifted], attackers, events), work.task.scoring, tested, honest
        )
        rate = {"learning_rate": work.recipe.at(closed.round).rate} if work.recipe.schedule else {}
        return replace(full, facts={**full.facts, **parts.hazards.facts(closed, events), **rate})

    every, patience = config.evaluation.every, config.engine.retries
    return Loop(parts.server, parts.engine, writer, record, parts.hazards, every, on_round, stop, patience)


def _other_trainer(found: Run, parts: Parts) -> list[Event]:
    """Whether clients are trained in another way than before, which changes the last bits of every model."""
    before, now = found.about.get("trainer", ""), parts.work.why
    if before in ("", now):
        return []
    told = f"clients were trained by {before}, and are now by {now}: results differ in their last digits"
    return [Event("trainer", told, detail={"before": before, "now": now})]


def told_clients(writer: RunWriter, parts: Parts) -> None:
    """Put on record who takes part, with what data, and what trains."""
    scoring = parts.work.task.scoring.written()
    writer.about(trainer=parts.work.why, data=parts.federation.dataset.name, scoring=scoring)
    writer.clients(parts.engine.clients() or client_rows(parts))


def _as_config(
    what: Method | Config | Mapping[str, Any] | str | Path, brought: Brought, training: "Recipe | None",
    seed: int | None, sections: Mapping[str, Any], overrides: Iterable[str], directory: Path,
) -> Config:  # fmt: skip
    """The config that says what was asked for, checked and complete."""
    if isinstance(what, Method):
        if brought.clients is None:
            raise InputError(
                "clients: must be given with a method, such as fw.splits.iid(fw.data.digits(), clients=20)"
            )
        content = config_of(what, brought.clients, brought.model, training, brought.attack, seed, sections)
        return parse_config(content, overrides, directory)
    if training is not None or brought.attack is not None:
        raise InputError("training, attack: go with a method; a config has sections for them")
    if isinstance(what, str | Path):
        content = said_config(what).model_dump(exclude_unset=True)
    else:
        content = what.written() if isinstance(what, Config) else dict(what)
    content = merged(content, {**({} if seed is None else {"seed": seed}), **sections})
    if brought.clients is not None:
        content |= {"data": {"name": "own"}, "split": {"name": "iid", "clients": brought.clients.clients}}
    if brought.model is not None:
        content = merged(content, {"model": {"name": "own"}})
    return parse_config(content, overrides, directory)


def _task(said: "Task | str | None") -> "Task | None":
    return None if isinstance(said, str) else said


def _task_section(said: "Task | str") -> dict[str, Any]:
    return {"name": said} if isinstance(said, str) else written(said.section())


def client_rows(parts: Parts) -> list[dict[str, Any]]:
    """Who takes part, for the record."""
    attackers = parts.hazards.attackers
    return [
        {
            "client": number, "name": shard.name or f"client {number}", "about": shard.about,
            "truth": shard.group, "attacker": int(number in attackers),
            "train": len(shard.train), "validation": len(shard.validation), "test": len(shard.test),
            "address": shard.address, "hour": shard.hour, "user": shard.user,
        }
        for number, shard in enumerate(parts.federation.shards)
    ]  # fmt: skip


def environment(config: Config, directory: Path) -> dict[str, Any]:
    """What the run was made with."""
    import torch

    return {
        "flockwise": __version__, "python": platform.python_version(), "numpy": np.__version__,
        "torch": torch.__version__, "machine": platform.machine(), "system": platform.system(),
        "cores": os.cpu_count(), "seed": config.seed, "command": sys.argv, "directory": str(directory.resolve()),
    }  # fmt: skip


def about_data(federation: Federation) -> dict[str, Any]:
    """What is kept of the data: a digest of each client's, and the shape of a sample."""
    return {**samples_told(federation), **data_marks(federation)}


def new_run_path(config: Config, folder: Path = Path("runs")) -> Path:
    """A directory name that says what and when, and is not taken."""
    stem = f"{time.strftime('%Y-%m-%d_%H%M%S')}_{config.strategy.name.rpartition(':')[2]}_{config.data.name}"
    path, number = folder / stem, 1
    while path.exists():
        number += 1
        path = folder / f"{stem}_{number}"
    return path


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


def policy_of(config: Config) -> CheckpointPolicy:
    """When checkpoints are written, and which are kept."""
    every = None if config.checkpoint.every == "auto" else config.checkpoint.every
    return CheckpointPolicy(every, config.checkpoint.keep, frozenset(config.checkpoint.at))


def _path(value: str | Path | None) -> Path | None:
    return Path(value) if value is not None else None
