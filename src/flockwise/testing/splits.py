"""What every split must do."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from flockwise.data import Federation, load
from flockwise.splits import SPLITS
from flockwise.testing.each import one_each


class SplitBattery:
    """Give it `split`, a function of a data set; `parameters` are passed along."""

    split: ClassVar[Callable[..., Federation]]
    parameters: ClassVar[Mapping[str, Any]] = {}
    clients: ClassVar[int] = 10

    @classmethod
    def each(cls) -> "list[type[SplitBattery]]":
        """A battery for every registered split that can deal the embedded digits."""
        tried = {name: piece for name, piece in SPLITS.items() if piece.example is not None}
        return one_each(
            cls, {name: {"split": piece, "parameters": piece.example} for name, piece in tried.items()}
        )

    def deal(self, seed: int = 0) -> Federation:
        """The split of the embedded digits."""
        return type(self).split(load("digits"), clients=self.clients, seed=seed, **self.parameters)

    def test_gives_every_client_training_data(self) -> None:
        """Nobody is left with nothing."""
        federation = self.deal()
        assert federation.clients == self.clients
        assert (federation.sizes("train") > 0).all()

    def test_deals_no_sample_twice(self) -> None:
        """Not to two clients, and not to two parts of one."""
        federation = self.deal()
        parts = ("train", "validation", "test")
        dealt = np.concatenate(
            [federation.indices(c, part) for c in range(federation.clients) for part in parts]
        )
        assert len(np.unique(dealt)) == len(dealt)

    def test_keeps_test_data_out_of_training(self) -> None:
        """Training data comes from the training part of the data set, test data from the test part."""
        federation = self.deal()
        for client in range(federation.clients):
            assert (federation.indices(client, "train") < federation.dataset.train).all()
            assert (federation.indices(client, "test") >= federation.dataset.train).all()

    def test_the_seed_decides(self) -> None:
        """The same seed deals the same, another seed deals otherwise."""
        one, same, other = (self.deal(seed).indices(0, "train").tolist() for seed in (0, 0, 1))
        assert one == same != other
