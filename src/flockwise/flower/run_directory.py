"""The run directory of a run in a ServerApp: made, or opened again to go on."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from flwr.app import ArrayRecord, MetricRecord

from flockwise.config import Config, parse_config
from flockwise.errors import ConfigError, RunError
from flockwise.flower.continuing import Continuation
from flockwise.flower.user_apps import IDENTITIES
from flockwise.runs.driving import policy_of
from flockwise.runs.provenance import environment
from flockwise.runs.recorded_config import recorded
from flockwise.stages.state import State
from flockwise.store import RunWriter, create_run, open_run, reopen_run

EvaluateFunction = Callable[[int, ArrayRecord], MetricRecord | None]

_FIXED = (  # what may not change when a run goes on
    "seed", "data", "split", "model", "training", "strategy", "aggregation", "sampling", "attack", "faults",
)  # fmt: skip
_CENTRAL = "flower_central"


@dataclass
class RunDirectory:
    """Where the run is written and how far it had come; `central` is what `evaluate_fn` measured, by round."""

    writer: RunWriter
    state: State | None = None
    identities: str | None = None
    samples: dict[int, int] = field(default_factory=dict)  # what each client last trained on
    central: dict[int, dict[str, float]] = field(default_factory=dict)
    continuation: Continuation | None = None  # what the run is still to begin with

    @classmethod
    def open(cls, path: Path, config: Config, continues: Path | None = None) -> "RunDirectory":
        """A new run, which may go on from the one in `continues`, or the one in this directory to go on with.

        Rounds without a checkpoint of their own are asked for again after a crash; over a network a round costs far
        more than a checkpoint, unless models are large and clients many.
        """
        policy = policy_of(config)
        if not (path / "config.toml").exists():
            made = environment(config, Path.cwd())
            if continues is None:
                return cls(create_run(path, config.written(), made, policy))
            start = Continuation.of(continues, _places(config))
            writer = create_run(path, config.written(), {**made, **start.about}, policy)
            return cls._beginning(writer, start)
        same_run(path, config)
        found = open_run(path)
        newest, about = found.newest_checkpoint(), found.about
        if newest.round < int(found.environment.get("continued_at", 0)):  # it was stopped before it had begun
            start = Continuation.of(Path(found.environment["parent"]), _places(config))
            return cls._beginning(reopen_run(path, policy), start)
        samples = {int(row["client"]): int(row["train"]) for row in found.clients}
        writer = reopen_run(path, policy)
        writer.forget_after(newest.round)
        writer.events(newest.round, newest.passed_over)
        writer.about(goal=str(config.rounds))
        central = {int(r): m for r, m in json.loads(about.get(_CENTRAL, "{}")).items()}
        state = State.from_arrays(newest.arrays) if newest.arrays else None
        return cls(writer, state, about.get(IDENTITIES), samples, central)

    @classmethod
    def _beginning(cls, writer: RunWriter, start: Continuation) -> "RunDirectory":
        return cls(writer, start.state, start.parent.about[IDENTITIES], continuation=start)

    def __enter__(self) -> "RunDirectory":
        return self

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        if error is not None:
            self.writer.about(state="failed", error=f"{type(error).__name__}: {error}"[:500])
        self.writer.close()

    def measured(self, round: int, metrics: MetricRecord | None) -> None:
        """Keep what `evaluate_fn` found after a round."""
        if metrics is not None:
            self.central[round] = {k: float(v) for k, v in metrics.items() if isinstance(v, int | float)}
            self.writer.about(**{_CENTRAL: json.dumps(self.central)})


def _places(config: Config) -> int:
    assert config.split.clients is not None  # `Flocks` was told
    return config.split.clients


def same_run(path: Path, config: Config) -> None:
    """Refuse to go on with a run under another config; only the number of rounds may change."""
    found = open_run(path)
    try:
        directory = Path(found.environment.get("directory", "."))
        before = parse_config(recorded(found.config, directory), directory=directory).written()
    except ConfigError as error:
        raise RunError(f"{path}/config.toml: cannot be gone on with: {error}") from error
    now = config.written()
    for section in _FIXED:
        if before[section] != now[section]:
            raise RunError(
                f"{path}: holds a run with another {section}: {before[section]}; choose another directory"
            )
