"""What every way to begin or go on with a run shares: the record of its clients, its loop, its end."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from flockwise.config import Config
from flockwise.data import PARTS
from flockwise.engine import Evaluation
from flockwise.errors import EngineError
from flockwise.messages import Event, RoundRecord
from flockwise.runs.assembly import Parts
from flockwise.runs.evaluating import TELLING, rounds_between
from flockwise.runs.handle import Run, open_run
from flockwise.runs.loop import Loop, Progress
from flockwise.runs.naming import as_quality, named
from flockwise.runs.recording import recorded
from flockwise.runs.tested_clients import tested_clients
from flockwise.runs.truth import ground_truth
from flockwise.store.client_table import UNKNOWN
from flockwise.store.compact import MANY
from flockwise.store.policy import CheckpointPolicy
from flockwise.store.writer import RunWriter

Callback = Callable[[Progress], object]


def policy_of(config: Config) -> CheckpointPolicy:
    """When checkpoints are written, and which are kept."""
    every = None if config.checkpoint.every == "auto" else config.checkpoint.every
    return CheckpointPolicy(every, config.checkpoint.keep, frozenset(config.checkpoint.at))


def told_clients(writer: RunWriter, parts: Parts) -> None:
    """Put on record who takes part, with what data, and what trains."""
    scoring = parts.work.task.scoring.written()
    writer.about(trainer=parts.work.why, data=parts.federation.dataset.name, scoring=scoring)
    known = parts.engine.clients()
    if known is None and parts.federation.clients >= MANY and parts.federation.is_shared:
        writer.client_columns(client_columns(parts))
    else:
        writer.clients(known or client_rows(parts))


def client_columns(parts: Parts) -> dict[str, np.ndarray]:
    """Who takes part, for the record: as columns, of very many clients that have no names."""
    federation, groups = parts.federation, parts.federation.groups
    attacker = np.zeros(federation.clients, dtype=np.int64)
    attacker[list(parts.hazards.attackers)] = 1
    truth = np.full(federation.clients, UNKNOWN) if groups is None else groups
    return {"truth": truth, "attacker": attacker, **{part: federation.sizes(part) for part in PARTS}}


def client_rows(parts: Parts) -> list[dict[str, Any]]:
    """The same, a row for each client."""
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

    honest = np.ones(work.federation.clients, dtype=bool)
    honest[list(attackers)] = False

    def record(closed: RoundRecord, tested: Evaluation | None, events: list[Event]) -> RoundRecord:
        drifted = work.later is not None and closed.round >= config.faults.drift_round
        turned = None if tested is None else as_quality(tested, work.task.scoring)
        full = named(
            recorded(closed, turned, truth[drifted], attackers, events), work.task.scoring, tested, honest
        )
        rate = {"learning_rate": work.recipe.at(closed.round).rate} if work.recipe.schedule else {}
        return replace(full, facts={**full.facts, **parts.hazards.facts(closed, events), **rate})

    some = tested_clients(config, work.federation.clients)
    every = rounds_between(config.evaluation.every, work, config.sampling.fraction, config.rounds, some)
    telling = TELLING if config.evaluation.every == "auto" else frozenset[str]()
    return Loop(
        parts.server, parts.engine, writer, record, parts.hazards, every, telling, some, on_round, stop,
        config.engine.retries,
    )  # fmt: skip


def ended(path: Path) -> Run:
    """The run as it ended; an EngineError if nothing was learned in it, whose record is kept all the same."""
    found = open_run(path)
    if found.state == "failed":
        raise EngineError(f"{path}: failed: {found.about.get('error', 'no reason is on record')}")
    return found
