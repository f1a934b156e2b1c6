"""A finished run, and the numbers that papers report of runs."""

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np

from flockwise.data import Federation, Shard, load
from flockwise.metrics import clients_at_target
from flockwise.models import build
from flockwise.store import Run
from flockwise.training import Recipe, Trainer, choose_trainer
from flockwise.types import Vector

_NOTHING = np.zeros(0, dtype=np.int64)


class Finished:
    """A run that reached its end, with its data at hand for judging models on the official test part."""

    def __init__(self, run: Run, data: Path | None = None) -> None:
        self.run = run
        self._data = data

    @cached_property
    def last(self) -> int:
        """The last round."""
        return int(self.run.rounds[-1])

    def fact(self, name: str, round: int | None = None) -> float:
        """A number on record at a round (the last by default); NaN if it was not measured."""
        values = self.run.facts.get(name)
        if values is None:
            return float("nan")
        place = np.flatnonzero(self.run.rounds == (self.last if round is None else round))
        return float(values[place[0]]) if len(place) else float("nan")

    def curve(self, name: str) -> list[float | None]:
        """A number round by round, None where it was not measured."""
        values = self.run.facts.get(name)
        return [] if values is None else [round(float(v), 6) if v == v else None for v in values]

    def at_target(self, target: float, round: int | None = None) -> float:
        """Share of the clients whose own test accuracy is at least `target`."""
        accuracy = self.run.array_at("accuracy", self.last if round is None else round)
        # Stored as float32: 0.99 of 100 samples is 0.9900000095 or just below 0.99.
        return float("nan") if accuracy is None else clients_at_target(accuracy, target - 1e-6)

    def official(self, model: Vector) -> float:
        """Accuracy of a model on the data set's whole official test part, under its true labels."""
        trainer, x, y = _judge(self.run.config["data"]["name"], self.run.config["model"]["name"], self._data)
        return trainer.losses(np.ascontiguousarray(model, dtype=np.float32), x, y)[1] / len(y)

    def models(self, round: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The models at the end or after a round that was saved, and each client's row (negative: none)."""
        state = self.run.checkpoint(round)
        return state["models"], state["labels"]


@lru_cache(maxsize=1)  # the cells of a table share data and model, and the test part may be 100 MB
def _judge(dataset: str, model: str, data: Path | None) -> tuple[Trainer, np.ndarray, np.ndarray]:
    held = load(dataset, data)
    height, width, channels = held.shape
    module = build(model, (channels, height, width), held.classes, seed=0)
    trainer, _ = choose_trainer(module, (channels, height, width), Recipe(1, 2, 0.0))
    x, y = Federation(held, (Shard(_NOTHING, _NOTHING, _NOTHING),)).official_test()
    return trainer, np.ascontiguousarray(x), y


class Computed(Finished):
    """What was computed without a run: only its curves."""

    def __init__(self, curves: Mapping[str, Sequence[float]]) -> None:
        self._curves = curves

    def fact(self, name: str, round: int | None = None) -> float:
        """The last value of a curve, or that of a round."""
        return float(self._curves[name][-1 if round is None else round - 1])


def global_accuracy(finished: Finished) -> float:
    """Percent of the official test part that the one global model gets right."""
    return 100.0 * finished.official(finished.models()[0][0])
