"""A finished run, and the numbers that studies read of it."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from flockwise import plugins
from flockwise.config.resolving import method_of
from flockwise.data import Federation, Shard, load
from flockwise.errors import ConfigError
from flockwise.metrics import clients_at_target, pairs_merged
from flockwise.models import build
from flockwise.runs.recorded_config import config_of_run
from flockwise.stages.attribution import OneModel
from flockwise.store import Run
from flockwise.training import Recipe, Trainer, choose_trainer
from flockwise.types import Vector

_NOTHING = np.zeros(0, dtype=np.int64)
Read = Callable[["Finished"], float]


class Finished:
    """A run that reached its end, with its data at hand for judging models on the official test part."""

    def __init__(self, run: Run, data: Path | None = None) -> None:
        self.run = run
        self._data = data

    def __getattr__(self, name: str) -> Any:
        """What any run has, such as `facts`: functions of a user's read it as they would read a run."""
        if name == "run" or name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.run, name)

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

    def pairs_merged(self) -> float:
        """Of the pairs of honest clients of different groups that take part, the share in one flock at the end."""
        flock, apart = (self.run.array_at(name, self.last) for name in ("flock", "apart"))
        truth = self.run.client_column("truth")
        if flock is None or apart is None or (truth < 0).any():
            return float("nan")
        counted = (flock >= 0) & (apart == 0) & (self.run.client_column("attacker") == 0)
        return pairs_merged(flock[counted], truth[counted]) if counted.any() else float("nan")

    def official(self, model: Vector) -> float:
        """Accuracy of a model on the data set's whole official test part, under its true labels."""
        config = self.run.config
        options = {
            key: value for key, value in config["model"].items() if key not in ("name", "travels", "trains")
        }
        trainer, x, y = _judge(
            config["data"]["name"], config["model"]["name"], tuple(sorted(options.items())), self._data
        )
        return trainer.losses(np.ascontiguousarray(model, dtype=np.float32), x, y)[1] / len(y)

    def models(self, round: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The models at the end or after a round that was saved, and each client's row (negative: none)."""
        state = self.run.checkpoint(round)
        return state["models"], state["labels"]

    @cached_property
    def one_for_all(self) -> bool:
        """Whether everybody has the first model, whatever the groups: further rows are not in use then."""
        directory = Path(self.run.environment.get("directory", "."))
        return isinstance(method_of(config_of_run(self.run, directory), directory).serve, OneModel)

    def official_accuracy(self, round: int | None = None) -> float:
        """Of the one global model, or of the mean of the models that clients have."""
        models, labels = self.models(round)
        one = len(models) == 1 or self.one_for_all
        used = np.zeros(1, dtype=np.int64) if one else np.unique(labels[labels >= 0])
        mean = (
            models[used].astype(np.float64).mean(axis=0).astype(np.float32)
            if len(used) > 1
            else models[used[0]]
        )
        return self.official(mean)


@lru_cache(maxsize=1)  # the cells of a table share data and model, and the test part may be 100 MB
def _judge(
    dataset: str, model: str, options: tuple[tuple[str, Any], ...], data: Path | None
) -> tuple[Trainer, np.ndarray, np.ndarray]:
    held = load(dataset, data)
    height, width, channels = held.shape
    module = build(model, (channels, height, width), held.classes, seed=0, **dict(options))
    trainer, _ = choose_trainer(module, (channels, height, width), Recipe(1, 2, 0.0))
    x, y = Federation(held, (Shard(_NOTHING, _NOTHING, _NOTHING),)).official_test()
    return trainer, np.ascontiguousarray(x), y


def own_reader(name: str, directory: Path | None) -> Callable[..., Any]:
    """A function that a study names as module:function, looked for beside its file."""
    found = plugins.find("numbers", name, {}, directory)
    if not callable(found):
        raise ConfigError(f"{name!r}: is not a function")
    return found  # type: ignore[no-any-return]


def statistic(values: Sequence[float | None], kind: str, better: str) -> float:
    """The mean of a stretch of a curve, its best or worst value, or how often it rises; NaN where nothing was measured."""
    known = [value for value in values if value is not None and value == value]
    if not known:
        return float("nan")
    if kind == "rises":
        return float(sum(later > earlier for earlier, later in zip([0.0, *known], known, strict=False)))
    if kind == "mean":
        return sum(known) / len(known)
    highest = (kind == "best") == (better != "lower")
    return max(known) if highest else min(known)


def curve_at(
    curves: Mapping[str, Sequence[float | None]], rounds: Sequence[int], name: str, at: int | None
) -> float:
    """A curve's value at a round, or its last one; NaN if it was not measured there."""
    curve = curves.get(name, [])
    numbered = rounds or range(1, len(curve) + 1)
    if at is None:
        known = [value for value in curve if value is not None]
        return float(known[-1]) if known else float("nan")
    found = [value for place, value in zip(numbered, curve, strict=False) if place == at]
    return float(found[0]) if found and found[0] is not None else float("nan")
