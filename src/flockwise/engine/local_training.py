"""One client's training in one round, as a personal method may use it: epochs of a part of the model, or single steps."""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from torch import nn

from flockwise.models.travel import Travel
from flockwise.stages.personal import Part, Step
from flockwise.training.recipe import Recipe, Trainer
from flockwise.types import Rows, Vector

_AT_ONCE = 256  # samples whose activations are held at a time where no batch size is asked for


@dataclass(slots=True)
class ClientTraining:
    """What `flockwise.stages.personal.LocalTraining` asks for. Orders are drawn as they are needed."""

    trainers: "Trainers"
    recipe: Recipe
    round: int
    x: np.ndarray
    y: np.ndarray
    rng: np.random.Generator

    @property
    def rate(self) -> float:
        """The learning rate."""
        return self.recipe.rate

    @property
    def kept(self) -> Rows:
        """Where the numbers lie that stay."""
        return self.trainers.kept

    def fit(self, model: Vector, part: Part = "all", epochs: int | None = None) -> tuple[Vector, float]:
        """Some epochs in which only this part moves."""
        recipe = self.recipe if epochs is None else replace(self.recipe, epochs=epochs)
        drawn = [self.rng.permutation(len(self.y)) for _ in range(recipe.epochs)]
        orders = (
            drawn[0][None] if len(drawn) == 1 else np.stack(drawn)
        )  # light rounds are many small trainings
        return self.trainers.of(part).train(model, self.x, self.y, orders, recipe)

    def steps(self, epochs: int | None = None) -> Iterator[Step]:
        """A step for each batch."""
        for _ in range(self.recipe.epochs if epochs is None else epochs):
            order = self.rng.permutation(len(self.y))
            batches = np.split(order, range(self.recipe.batch_size, len(order), self.recipe.batch_size))
            if len(batches) > 1 and len(batches[-1]) < self.trainers.all.least:  # as trainers do
                batches[-2:] = [np.concatenate(batches[-2:])]
            for batch in batches:
                yield self._step(batch)

    def _step(self, batch: np.ndarray) -> Step:
        x, y, alone = self.x[batch], self.y[batch], np.arange(len(batch))[None]
        recipe = replace(self.recipe, epochs=1, batch_size=len(batch))

        def step(model: Vector) -> tuple[Vector, float]:
            trained, loss = self.trainers.all.train(model, x, y, alone, recipe)
            return trained - model, loss

        return step

    def gradient(self, model: Vector, part: Part = "all") -> Vector:
        """What a step of rate 1 moves, in the mean over pieces of the data that fit into memory."""
        trainer, samples = self.trainers.of(part), len(self.y)
        slope = np.zeros(len(model))
        for piece in np.array_split(np.arange(samples), -(-samples // _AT_ONCE)):
            x, y, alone = self.x[piece], self.y[piece], np.arange(len(piece))[None]
            moved, _ = trainer.train(model, x, y, alone, Recipe(1, len(piece), learning_rate=1.0))
            slope += (model - moved) * (len(piece) / samples)
        return slope.astype(np.float32)


class Trainers:
    """The trainer of the whole model, and of each part of it with the rest frozen; those are made when first asked for."""

    def __init__(
        self, whole: Trainer, module: nn.Module, travel: Travel, make: Callable[[nn.Module], Trainer]
    ) -> None:
        self.all = whole
        self._module, self._travel, self._make = module, travel, make
        self._made: dict[Part, Trainer] = {"all": whole}

    @property
    def kept(self) -> Rows:
        """Where in a model the numbers lie that stay with the client."""
        return self._travel.own_places

    def of(self, part: Part) -> Trainer:
        """What moves this part alone."""
        if part not in self._made:
            frozen = copy.deepcopy(self._module)
            names = [entry.name for entry in self._travel.layout.entries]
            travels = dict(zip(names, self._travel.travelling, strict=True))
            for name, parameter in frozen.named_parameters():
                parameter.requires_grad_(parameter.requires_grad and travels[name] == (part == "sent"))
            self._made[part] = self._make(frozen)
        return self._made[part]
