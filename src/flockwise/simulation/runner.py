"""Running, resuming and forking: the loop around the server."""

import os
import platform
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from flockwise import __version__
from flockwise.config import Config, load_config, parse_config
from flockwise.errors import ConfigError, RunError
from flockwise.messages import Event, RoundRecord
from flockwise.pieces.state import State
from flockwise.simulation.assembly import Parts, assemble
from flockwise.simulation.recording import recorded
from flockwise.simulation.requests import apply_requests
from flockwise.store import Run, RunWriter, create_run, open_run, reopen_run
from flockwise.store.files import lock
from flockwise.store.policy import CheckpointPolicy

if TYPE_CHECKING:
    from torch import nn

    from flockwise.data import Federation


@dataclass(frozen=True)
class Progress:
    """What a progress callback is told after every round."""

    round: int
    rounds: int
    facts: Mapping[str, float]
    events: tuple[Event, ...]
    seconds: float
    engine: str
    path: Path


Callback = Callable[[Progress], object]


def run(
    config: Config | Mapping[str, Any] | str | Path, *, out: str | Path | None = None, overrides: Iterable[str] = (),
    data: str | Path | None = None, federation: "Federation | None" = None,
    model: "nn.Module | Callable[[], nn.Module] | None" = None, on_round: Callback | None = None,
    stop: Callable[[], bool] = lambda: False, directory: str | Path | None = None,
) -> Run:  # fmt: skip
    """Run a config (a path, a mapping or a Config) to the end and return the finished run.

    `federation` and `model` bring your own data and module. `on_round` is called after every round;
    `stop` is asked then, and ends the run at a point from which it can be resumed. `directory` is where pieces
    of your own are looked for: beside the config, or here, if not given.
    """
    beside = Path(config).parent if isinstance(config, str | Path) else Path.cwd()
    directory = beside if directory is None else Path(directory)
    config = _as_config(config, overrides, federation, model, directory)
    path = Path(out) if out is not None else new_run_path(config)
    parts = assemble(config, directory=directory, data=_path(data), federation=federation, model=model)
    try:
        content = config.model_dump(mode="json")
        with create_run(path, content, environment(config, directory), _policy(config)) as writer:
            writer.clients(client_rows(parts))
            _loop(config, parts, writer, on_round, stop)
    finally:
        parts.engine.close()
    return open_run(path)


def resume(
    path: str | Path, *, data: str | Path | None = None, federation: "Federation | None" = None,
    model: "nn.Module | Callable[[], nn.Module] | None" = None, on_round: Callback | None = None,
    stop: Callable[[], bool] = lambda: False, rounds: int | None = None, workers: int | None = None,
) -> Run:  # fmt: skip
    """Go on with a run from its newest whole checkpoint, to the same bits as if nothing had happened."""
    path = Path(path)
    found = open_run(path)
    directory = Path(found.environment.get("directory", "."))
    config = parse_config(found.config, directory=directory)
    goal = rounds or found.goal or config.rounds
    config = config.model_copy(update={"rounds": goal})
    if workers is not None:
        config = config.model_copy(update={"engine": config.engine.model_copy(update={"workers": workers})})
    with lock(path):  # told before anything is built, if another process is at it
        pass
    newest = found.newest_checkpoint()
    if newest.round < int(found.environment.get("forked_at", 0)):
        raise RunError(f"{path}: this fork was stopped while it was being made; delete it and fork again")
    state = State.from_arrays(newest.arrays) if newest.arrays else None
    # Nothing of the record is touched before it is clear that the run can go on.
    parts = assemble(config, state, directory=directory, data=_path(data), federation=federation, model=model)
    try:
        with reopen_run(path, _policy(config)) as writer:
            writer.forget_after(newest.round)
            writer.events(newest.round, newest.passed_over)
            writer.about(goal=str(goal))
            writer.clients(client_rows(parts))
            _loop(config, parts, writer, on_round, stop)
    finally:
        parts.engine.close()
    return open_run(path)


def fork(
    path: str | Path, at: int, overrides: Iterable[str] = (), *, out: str | Path | None = None,
    data: str | Path | None = None, federation: "Federation | None" = None,
    model: "nn.Module | Callable[[], nn.Module] | None" = None, on_round: Callback | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Run:  # fmt: skip
    """Start a new run from a checkpoint of another one, with another method, rule or training from there on."""
    parent = open_run(path)
    directory = Path(parent.environment.get("directory", "."))
    config = parse_config(parent.config, overrides, directory)
    before = parse_config(parent.config, directory=directory)
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
    parts = assemble(
        config,
        State.from_arrays(saved),
        directory=directory,
        data=_path(data),
        federation=federation,
        model=model,
    )
    about = {**environment(config, directory), "parent": str(Path(path).resolve()), "forked_at": at}
    try:
        with create_run(target, config.model_dump(mode="json"), about, _policy(config)) as writer:
            writer.clients(client_rows(parts))
            _inherit(parent, writer, at, saved)
            _loop(config, parts, writer, on_round, stop)
    finally:
        parts.engine.close()
    return open_run(target)


def _loop(
    config: Config, parts: Parts, writer: RunWriter, on_round: Callback | None, stop: Callable[[], bool]
) -> None:
    server, state = parts.server, "finished"
    attackers = parts.adversary.clients if parts.adversary else frozenset()
    truth = [
        ground_truth(federation or parts.federation, attackers)
        for federation in (parts.federation, parts.later)
    ]
    try:
        while server.round < config.rounds:
            started = time.perf_counter()
            asked, settle = apply_requests(writer.path, server)
            record, events = one_round(parts)
            last = server.round >= config.rounds
            tested = None
            if server.round % config.evaluation.every == 0 or last:
                tested = parts.engine.evaluate(server.round, *server.assignment())
            drifted = parts.later is not None and server.round >= config.faults.drift_round
            full = recorded(record, tested, truth[drifted], attackers, [*asked, *events])
            seconds = time.perf_counter() - started
            stopping = not last and stop()
            writer.commit(
                full.round, seconds, full.facts, full.arrays, full.events, server.state.to_arrays,
                last=last or stopping or bool(asked),
            )  # fmt: skip
            settle()
            if on_round:
                on_round(Progress(full.round, config.rounds, full.facts, full.events, seconds,
                                  parts.engine.describe(), writer.path))  # fmt: skip
            if stopping:
                state = "stopped"
                break
    except BaseException as error:
        writer.events(server.round, _told_by(parts.engine))  # what led to it
        writer.about(state="failed", error=f"{type(error).__name__}: {error}"[:500])
        raise
    writer.about(state=state)


def one_round(parts: Parts) -> tuple[RoundRecord, list[Event]]:
    """Drive the server through one round: plans to the engine, replies through attack and channel."""
    events: list[Event] = []
    while True:
        plan = parts.server.ask()
        if plan.kind == "validate":
            record = parts.server.tell(parts.channel.present(parts.engine.validate(plan)))
        else:
            replies = parts.engine.train(plan)
            if parts.adversary:
                replies = parts.adversary.tamper(replies, parts.server.state)
            arrived, lost = parts.channel.carry(replies)
            events += lost
            record = parts.server.tell(arrived)
        if record is not None:
            return record, [*events, *_told_by(parts.engine)]


def _told_by(engine: Any) -> list[Event]:
    """What an engine with real nodes has to tell."""
    drain = getattr(engine, "drain_events", None)
    return drain() if drain else []


def ground_truth(federation: "Federation", attackers: frozenset[int]) -> np.ndarray | None:
    """The true flock of each client: its group, and whether it lies."""
    groups = federation.groups
    if groups is None and not attackers:
        return None
    lies = np.array([client in attackers for client in range(federation.clients)], dtype=np.int64)
    return lies if groups is None else 2 * groups + lies


def client_rows(parts: Parts) -> list[dict[str, Any]]:
    """Who takes part, for the record."""
    attackers = parts.adversary.clients if parts.adversary else frozenset()
    return [
        {
            "client": number, "name": f"client {number}", "truth": shard.group, "attacker": int(number in attackers),
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


def new_run_path(config: Config, folder: Path = Path("runs")) -> Path:
    """A directory name that says what and when, and is not taken."""
    stem = f"{time.strftime('%Y-%m-%d_%H%M%S')}_{config.strategy.name.replace(':', '-')}_{config.data.name}"
    path, number = folder / stem, 1
    while path.exists():
        number += 1
        path = folder / f"{stem}_{number}"
    return path


def _inherit(parent: Run, writer: RunWriter, at: int, saved: Mapping[str, np.ndarray]) -> None:
    """Copy the record of the rounds before the fork."""
    names = {"accuracy", "flock", "apart", "trained", "loss", "similarity", "map"}
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


def _as_config(
    config: Config | Mapping[str, Any] | str | Path,
    overrides: Iterable[str],
    federation: object,
    model: object,
    directory: Path,
) -> Config:
    if isinstance(config, Config):
        config = config.model_dump(mode="json", exclude_none=True)
    if isinstance(config, str | Path):
        return load_config(config, overrides)
    content: dict[str, Any] = dict(config)
    if federation is not None:
        content = {**content, "data": {"name": "own"}}
        content["split"] = {"name": "iid", "clients": federation.clients}  # type: ignore[attr-defined]
    if model is not None:
        content = {**content, "model": {"name": "own"}}
    return parse_config(content, overrides, directory)


def _policy(config: Config) -> CheckpointPolicy:
    every = None if config.checkpoint.every == "auto" else config.checkpoint.every
    return CheckpointPolicy(every, config.checkpoint.keep, frozenset(config.checkpoint.at))


def _path(value: str | Path | None) -> Path | None:
    return Path(value) if value is not None else None
