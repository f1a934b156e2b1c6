"""Going on with a run that was stopped, from its newest whole checkpoint."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from flockwise.data import Federation
from flockwise.engine import Engine, Opener
from flockwise.errors import ConfigError, RunError
from flockwise.messages import Event
from flockwise.runs.assembly import Brought, Parts, assemble
from flockwise.runs.driving import Callback, ended, kept_by_clients, loop_of, policy_of, told_clients
from flockwise.runs.handle import Run, open_run
from flockwise.runs.provenance import edited_pieces
from flockwise.runs.recorded_config import config_of_run
from flockwise.runs.same_data import refuse_other_data
from flockwise.runs.sample_shape import samples_on_record
from flockwise.runs.whereabouts import pointed_at
from flockwise.stages.method import Method
from flockwise.store import reopen_run
from flockwise.store.checkpoint import state_of
from flockwise.store.damage import refuse_damage
from flockwise.store.files import lock

if TYPE_CHECKING:
    from torch import nn

    from flockwise.attacks import Attack
    from flockwise.tasks import Task
    from flockwise.training import Recipe


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
    if rounds is not None and rounds < (last := int(max(found.rounds, default=0))):
        raise ConfigError(
            f"rounds = {rounds}: must be at least {last}, the round that {path} has come to; for another way from an "
            f"earlier round: flockwise fork {path} --at ROUND"
        )
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
    config, sets = pointed_at(config, data, directory)
    parts = assemble(
        config, state, directory=directory, data=sets, brought=brought, known=samples_on_record(found)
    )
    try:
        refuse_other_data(path, found, parts.federation)
        with reopen_run(path, policy_of(config)) as writer:
            writer.forget_after(newest.round)
            writer.events(newest.round, newest.passed_over)
            writer.about(goal=str(goal))
            writer.events(newest.round, _other_trainer(found, parts))
            writer.events(newest.round, edited_pieces(found.environment, config, directory))
            told_clients(writer, parts)
            parts.engine.restore(kept_by_clients(newest.arrays))
            loop_of(config, parts, writer, on_round, stop).run(goal)
    finally:
        parts.engine.close()
    return ended(path)


def _other_trainer(found: Run, parts: Parts) -> list[Event]:
    """Whether clients are trained in another way than before, which changes the last bits of every model."""
    before, now = found.about.get("trainer", ""), parts.work.why
    if before in ("", now):
        return []
    told = f"clients were trained by {before}, and are now by {now}: results differ in their last digits"
    return [Event("trainer", told, detail={"before": before, "now": now})]
