"""Draws each client's samples from all of them, so that there may be many more clients than the data set has samples.

What a client holds follows from the seed and its number alone, and is worked out when it is asked for. A sample is then
with several clients: they are as many draws from one source, not as many people. The training part is first cut into one
for training and one for validation, so that nobody trains on what another client validates on.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flockwise.data import Dataset, held_out, hold_out
from flockwise.data.recipes import Indices, Parts
from flockwise.errors import InputError
from flockwise.rng import generator
from flockwise.splits.sizes import training_sizes


def draw_for_each(
    dataset: Dataset, clients: int, seed: int, sizes: str | Sequence[int], samples: int | None, validation: float,
    test: int | None,
) -> "Drawn":  # fmt: skip
    """`samples` for each client (their mean, if sizes differ) from all training samples, `test` from all test samples.

    Without `test`, as many test samples as training samples, in proportion to what there is of each.
    """
    if samples is None and isinstance(sizes, str):
        raise InputError("samples = none: must be given where samples are shared; 100 is a small client")
    there = dataset.samples - dataset.train
    pools = hold_out(dataset.train_indices, validation, generator(seed, "split/validation"))
    asked = np.sum(sizes) if not isinstance(sizes, str) else clients * (samples or 1)
    counts = training_sizes(clients, int(asked), sizes, samples, generator(seed, "split/sizes"))
    if test is None:
        tested = np.minimum(np.maximum(counts * there // dataset.train, 1), there)
    elif 0 <= test <= there:
        tested = np.full(clients, test, dtype=np.int64)
    else:
        raise InputError(f"test = {test}: must be 0 to {there}, the number of test samples")
    if counts.max() > len(pools[0]):
        raise InputError(
            f"samples = {samples}: gives a client {counts.max()}; must be at most {len(pools[0])}, the training samples "
            "there are"
        )
    return Drawn(Parts(*pools, dataset.test_indices), counts, tested, validation, seed)


@dataclass(frozen=True)
class Drawn:
    """Hands drawn anew from the same decks for each client; no card is twice in one hand."""

    pools: Parts
    counts: NDArray[np.int64]  # of training and validation samples
    tested: NDArray[np.int64]
    validation: float
    seed: int

    def __len__(self) -> int:
        return len(self.counts)

    def __getitem__(self, client: int) -> Parts:
        """What one client holds."""
        random = generator(self.seed, "split/drawn", client)
        wanted = (int(self._size(part, slice(client, client + 1))[0]) for part in Parts._fields)
        return Parts(*(_some(pool, size, random) for pool, size in zip(self.pools, wanted, strict=True)))

    def sizes(self, part: str) -> NDArray[np.int64]:
        """How many each client holds."""
        return self._size(part, slice(None))

    @property
    def trained(self) -> Indices:
        """The samples that clients may train on."""
        return self.pools.train

    def without(self, taken: Indices) -> "Drawn":
        """The same with samples that nobody trains on."""
        train = np.setdiff1d(self.pools.train, taken)
        return Drawn(self.pools._replace(train=train), self.counts, self.tested, self.validation, self.seed)

    def _size(self, part: str, which: slice) -> NDArray[np.int64]:
        counts, tested = self.counts[which], self.tested[which]
        aside = held_out(counts, self.validation)
        asked = {"train": counts - aside, "validation": aside, "test": tested}[part]
        return np.asarray(np.minimum(asked, len(getattr(self.pools, part))))


def _some(pool: Indices, size: int, random: np.random.Generator) -> Indices:
    return pool[random.choice(len(pool), size=size, replace=False)]
