"""Next month on Flower: a run that begins with the flock models, the memory and the keys of another one."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from flockwise.errors import InputError, RunError
from flockwise.flower.user_apps import IDENTITIES, UserApps
from flockwise.messages import Event
from flockwise.runs.loop import Loop
from flockwise.runs.settling import begin, settle, starts_anew
from flockwise.stages.other_clients import for_clients
from flockwise.stages.state import State
from flockwise.store import Run, open_run
from flockwise.store.checkpoint import state_of
from flockwise.store.damage import refuse_damage
from flockwise.store.requests import hand_on


@dataclass(frozen=True)
class Continuation:
    """What a new run takes over from another, and has not yet begun with."""

    parent: Run
    old: State  # as the other run left it
    state: State  # the same, with places for newcomers
    forgotten: list[str]  # memories that are of no use for other clients

    @classmethod
    def of(cls, path: Path, places: int) -> "Continuation":
        """From the newest checkpoint of another run of a Flower app; its clients keep their numbers."""
        parent = open_run(path)
        refuse_damage(path)
        if IDENTITIES not in parent.about:
            raise RunError(
                f"{path}: was not made by a Flower app, so which node is which of its clients is not known; use "
                f"flockwise continue {path}"
            )
        old = state_of(parent.checkpoint(), path)
        known = len(parent.clients)
        if places < known:
            raise InputError(
                f"clients = {places}: {path} has {known}; give places to all of them, and to those who may come"
            )
        before = np.full(places, -1, dtype=np.int64)
        before[:known] = np.arange(known)
        return cls(parent, old, *for_clients(old, before))

    @property
    def about(self) -> dict[str, Any]:
        """For the new run's record."""
        return {"parent": str(self.parent.path.resolve()), "continued_at": self.old.round}

    def begin(self, loop: Loop, apps: UserApps, follow: float | None) -> None:
        """Place newcomers, move who does better elsewhere, and put the state that training begins with on record."""
        loop.writer.about(
            **apps.about()
        )  # no number that a state knows may be given to another node after a crash
        loop.writer.clients(apps.clients())
        members, known = apps.roster.members, len(self.parent.clients)
        here = np.zeros(loop.server.state.clients, dtype=bool)
        here[list(apps.roster.nodes)] = True
        back = int(here[:known].sum())
        told = f"goes on from round {self.old.round} of {self.parent.path.name}: {back} of {known} clients"
        names = [member.name or member.identity[:20] for member in members[known:]]
        came = Event("continued", f"{told} of before are here, {len(names)} new", detail={"new": names})
        events = [
            came,
            *starts_anew(self.forgotten),
            *settle(loop.server, apps.validate, self.old, follow, here),
        ]
        begin(loop, [*events, *apps.events()])
        hand_on(self.parent.path, loop.writer.path, np.arange(known))


def counted_from(path: Path, continues: Path | None) -> int:
    """The round that the rounds of a run are counted from: 0, or the last one of the run that it goes on from."""
    if (path / "config.toml").exists():
        found = open_run(path)
        began, parent = found.environment.get("continued_at", 0), found.environment.get("parent")
        if continues is not None and str(continues.resolve()) != parent:
            raise RunError(
                f"{path}: holds a run that goes on from {parent or 'no other run'}, not from {continues}; choose another "
                "directory"
            )
        return began if type(began) is int else 0
    return 0 if continues is None else open_run(continues).newest_checkpoint().round
