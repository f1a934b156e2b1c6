"""The run directory of a run in a ServerApp: opened, reopened, one commit per round."""

import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from flwr.app import MetricRecord

from flockwise.config import Config
from flockwise.engine.base import Evaluation
from flockwise.errors import RunError
from flockwise.flower.roster import Roster
from flockwise.messages import Event, RoundRecord
from flockwise.pieces.state import State
from flockwise.server import Server
from flockwise.runs.recording import recorded
from flockwise.runs.requests import apply_requests
from flockwise.runs.runner import environment
from flockwise.store import RunWriter, create_run, open_run, reopen_run
from flockwise.store.policy import CheckpointPolicy

_FIXED = (  # what may not change when a run goes on
    "seed", "data", "split", "model", "training", "strategy", "aggregation", "sampling", "attack", "faults",
)  # fmt: skip
_IDENTITIES = "flower_identities"


@dataclass
class Logbook:
    """Writes the run; every round ends with a checkpoint, for a round over a network costs far more."""

    writer: RunWriter
    state: State | None = None
    identities: str | None = None
    central: dict[int, dict[str, float]] = field(default_factory=dict)  # what evaluate_fn measured
    _rows: str = ""

    @classmethod
    def open(cls, path: Path, config: Config) -> "Logbook":
        """A new run, or the one in this directory to go on with."""
        policy = CheckpointPolicy(every=1)
        content = config.model_dump(mode="json", exclude_none=True)
        if not (path / "config.toml").exists():
            return cls(create_run(path, content, environment(config, Path.cwd()), policy))
        same_run(path, content)
        newest, about = open_run(path).newest_checkpoint(), open_run(path).about
        writer = reopen_run(path, policy)
        writer.forget_after(newest.round)
        writer.events(newest.round, newest.passed_over)
        writer.about(goal=str(config.rounds))
        central = {int(r): m for r, m in json.loads(about.get("flower_central", "{}")).items()}
        state = State.from_arrays(newest.arrays) if newest.arrays else None
        return cls(writer, state, about.get(_IDENTITIES), central)

    def __enter__(self) -> "Logbook":
        return self

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        if error is not None:
            self.writer.about(state="failed", error=f"{type(error).__name__}: {error}"[:500])
        self.writer.close()

    def requests(self, server: Server) -> tuple[list[Event], Callable[[], None]]:
        """What a person asked for since the last round, carried out."""
        return apply_requests(self.writer.path, server)

    def clients(self, roster: Roster, samples: Mapping[int, int]) -> None:
        """Who takes part; written before they train, so that numbers outlive a crash."""
        rows = [
            {
                "client": client, "name": member.name or member.identity[:20], "truth": None, "attacker": 0,
                "train": samples.get(client, 0), "validation": 0, "test": 0, "address": member.location,
                "hour": None, "user": member.user,
            }
            for client, member in enumerate(roster.members)
        ]  # fmt: skip
        text = json.dumps([rows, roster.to_json()])
        if text != self._rows:
            self._rows = text
            self.writer.about(**{_IDENTITIES: roster.to_json()})
            self.writer.clients(rows)

    def commit(
        self, record: RoundRecord, tested: Evaluation | None, events: Sequence[Event], server: Server,
        seconds: float, last: bool, central: MetricRecord | None,
    ) -> RoundRecord:  # fmt: skip
        """Put a closed round on record; what was recorded."""
        full = recorded(record, tested, None, frozenset(), list(events))
        if central is not None:
            self.central[full.round] = {k: float(v) for k, v in central.items() if isinstance(v, int | float)}
            self.writer.about(flower_central=json.dumps(self.central))
        self.writer.commit(
            full.round, seconds, full.facts, full.arrays, full.events, server.state.to_arrays(), last=last
        )
        return full

    def stop(self, server: Server, events: Sequence[Event], why: str) -> None:
        """The run ends before its time; what happened since the last round is added to that round."""
        if server.round:
            run = open_run(self.writer.path)
            seconds = float(run.seconds[run.rounds.tolist().index(server.round)])
            stopped = [*events, Event("stopped", why)]
            self.writer.commit(server.round, seconds, {}, {}, stopped, server.state.to_arrays(), last=True)
        else:  # the very first round failed: there is no round yet to add it to
            self.writer.events(0, [*events, Event("stopped", why)])
        self.writer.about(state="stopped", error=why[:500])

    def finish(self, roster: Roster, samples: Mapping[int, int]) -> None:
        """The run has reached its last round."""
        self.clients(roster, samples)
        self.writer.about(state="finished")


def same_run(path: Path, content: Mapping[str, object]) -> None:
    """Refuse to go on with a run under another config; only the number of rounds may change."""
    try:
        before = tomllib.loads((path / "config.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RunError(f"{path}/config.toml: cannot be read: {error}") from error
    for section in _FIXED:
        if before.get(section) != content.get(section):
            raise RunError(
                f"{path}: holds a run with another {section}: {before.get(section)}; choose another directory"
            )
