"""Real updates of very many clients, made in blocks: softmax regression on a few MNIST digits each.

A client of group g holds digits turned by g's angle, with labels swapped as g says, and sends the gradient of its digits
at a joint model, times a rate. All clients of a block do that at once, as one batch of matrix products.
"""

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np

from flockwise.data import load
from flockwise.rng import generator

CLASSES, PIXELS = 10, 784
PARAMETERS = CLASSES * (PIXELS + 1)
SWAPS = ((), ((0, 8), (1, 7)), ((2, 5), (3, 6)), ((4, 9), (0, 1)), ((2, 3), (7, 8)))
TURNS = 4  # by 0, 90, 180 and 270 degrees


class Crowd(NamedTuple):
    """Clients in groups: every pair of a turn and a swap of labels, `samples` digits a client."""

    clients: int
    samples: int = 20
    swaps: int = 5
    turns: int = 4
    seed: int = 0
    rate: float = 1.0

    @property
    def groups(self) -> np.ndarray:
        """The group of each client, at random."""
        return generator(self.seed, "crowd groups").integers(0, self.swaps * self.turns, self.clients)

    def blocks(
        self, model: np.ndarray, size: int = 1000, stop: int | None = None
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """The updates of clients that train from a model, block after block."""
        images, labels = _digits(self.turns, self.swaps)
        errors = _errors(images, labels, model)
        groups = self.groups
        for start in range(0, stop or self.clients, size):
            some = slice(start, min(start + size, self.clients))
            count = some.stop - start
            who = generator(self.seed, "crowd digits", start).integers(
                0, images.shape[1], (count, self.samples)
            )
            turn, swap = (part[:, None] for part in np.divmod(groups[some], self.swaps))
            gradient = errors[turn, swap, who].transpose(0, 2, 1) @ images[turn, who]
            yield some, (gradient * np.float32(-self.rate / self.samples)).reshape(count, -1)

    def joint_model(self, rounds: int = 5, clients: int = 2000) -> np.ndarray:
        """FedAvg over the first clients: where flocks are looked for is never the first model."""
        model = np.zeros(PARAMETERS, dtype=np.float32)
        for _ in range(rounds):
            total = np.zeros(PARAMETERS)
            for _, updates in self.blocks(model, stop=clients):
                total += updates.sum(axis=0)
            model = (model + total / clients).astype(np.float32)
        return model


def _errors(images: np.ndarray, labels: np.ndarray, model: np.ndarray) -> np.ndarray:
    """What the model says of each digit less what it should (turns, swaps, digits, classes)."""
    wanted = np.eye(CLASSES, dtype=np.float32)[labels]
    found = []
    for turned in images:
        scores = turned @ model.reshape(CLASSES, PIXELS + 1).T
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        found.append(scores / scores.sum(axis=1, keepdims=True) - wanted)
    return np.stack(found)


@cache
def _digits(turns: int, swaps: int) -> tuple[np.ndarray, np.ndarray]:
    """Digits in every turn (turns, digits, pixels + 1), and their labels under every swap (swaps, digits)."""
    data = load("mnist")
    pictures = data.x.reshape(len(data.x), 28, 28).astype(np.float32)
    pictures = pictures / pictures.max()
    turned = [np.rot90(pictures, turn, axes=(1, 2)).reshape(len(pictures), -1) for turn in range(turns)]
    ones = np.ones((len(pictures), 1), dtype=np.float32)
    images = np.stack([np.concatenate([flat, ones], axis=1) for flat in turned])
    labels = np.repeat(data.y[None], swaps, axis=0).astype(np.int64)
    for swap in range(swaps):
        for one, other in SWAPS[swap]:
            labels[swap] = np.where(data.y == one, other, np.where(data.y == other, one, labels[swap]))
    return images, labels
