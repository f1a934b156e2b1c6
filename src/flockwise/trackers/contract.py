"""What a tracker is: told of every round, and never a reason for a run to stop."""

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from importlib import import_module
from types import TracebackType
from typing import Any, Self

from flockwise.errors import ConfigError
from flockwise.plugins import nearest
from flockwise.runs import Progress
from flockwise.store import Run, open_run


class Tracker(ABC):
    """A callback for `on_round`. It begins with the first round that it is told of, and ends with the last one.

    Used in a `with` statement it also ends when a run stops before. What goes wrong on the way is warned of once; then
    the run goes on without it.
    """

    name = "tracker"

    def __init__(self) -> None:
        self._begun = self._done = False

    def __call__(self, progress: Progress) -> None:
        """One more round is on record."""
        if self._done:
            return
        try:
            if not self._begun:
                self._begun = True
                self.begin(open_run(progress.path), progress.round)
            self.log(
                {key: value for key, value in progress.facts.items() if math.isfinite(value)}, progress.round
            )
            if progress.round >= progress.rounds:
                self._end("finished")
        except Exception as error:  # a server that is gone must not cost the training
            self._done = True
            told = (str(error).splitlines() or [type(error).__name__])[0]
            warnings.warn(f"{self.name}: {told[:300]}; the run goes on without it", stacklevel=2)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._begun and not self._done:
            self._end("stopped" if kind is None else "failed")

    def _end(self, state: str) -> None:
        self._done = True
        self.end(state)

    @abstractmethod
    def begin(self, run: Run, first: int) -> None:
        """Start, or go on with, what stands for this run there."""

    @abstractmethod
    def log(self, facts: Mapping[str, float], round: int) -> None:
        """The numbers of a round."""

    @abstractmethod
    def end(self, state: str) -> None:
        """The run is finished, stopped or failed."""


def several(*callbacks: Callable[[Progress], object]) -> Callable[[Progress], None]:
    """One callback that tells several."""

    def told(progress: Progress) -> None:
        for callback in callbacks:
            callback(progress)

    return told


KINDS = {
    "mlflow": "flockwise.trackers.mlflow:MLflow",
    "tensorboard": "flockwise.trackers.tensorboard:TensorBoard",
    "wandb": "flockwise.trackers.wandb:WandB",
}


def tracker_from(said: str) -> Tracker:
    """The tracker that a command line names: mlflow=http://tracking:5000, tensorboard=logs, wandb=project."""
    name, _, where = said.partition("=")
    if name not in KINDS:
        raise ConfigError(f"--track {said}: {nearest(name, list(KINDS))}")
    if not where:
        raise ConfigError(
            f"--track {said}: say where, as in mlflow=http://tracking:5000, tensorboard=logs, wandb=project"
        )
    module, _, kind = KINDS[name].partition(":")
    made: Any = getattr(import_module(module), kind)(where)
    found: Tracker = made
    return found
