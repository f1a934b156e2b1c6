"""What every similarity or distance must do."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np

from flockwise.similarity import SIMILARITIES, Measure
from flockwise.testing.each import one_each
from flockwise.testing.examples import flocks, ordinary, shuffled


class SimilarityBattery:
    """Give it `measure`, a function of updates; `distance` says which way its numbers point."""

    measure: ClassVar[Callable[..., Any]]
    distance: ClassVar[bool] = False

    @classmethod
    def each(cls) -> "list[type[SimilarityBattery]]":
        """A battery for every registered similarity."""
        cases = {
            name: {"measure": partial(_compare, piece), "distance": piece.kind == "distance"}
            for name, piece in SIMILARITIES.items()
            if piece.example is not None
        }
        return one_each(cls, cases)

    def call(self, updates: np.ndarray) -> np.ndarray:
        """The measure on these updates."""
        return np.asarray(type(self).measure(updates))

    def test_gives_a_symmetric_square(self) -> None:
        """One number per pair."""
        square = self.call(ordinary(7))
        assert square.shape == (7, 7)
        np.testing.assert_allclose(square, square.T)

    def test_follows_the_order_of_clients(self) -> None:
        """Reordering clients reorders rows and columns, nothing else."""
        updates = ordinary(8)
        order = shuffled(8)
        np.testing.assert_allclose(
            self.call(updates[order]), self.call(updates)[np.ix_(order, order)], atol=1e-5
        )

    def test_points_the_right_way(self) -> None:
        """Clients of one flock are closer than clients of two."""
        updates, truth = flocks()
        square = self.call(updates) * (-1 if self.distance else 1)
        same = (truth[:, None] == truth[None, :]) & ~np.eye(len(truth), dtype=bool)
        assert square[same].min() > square[truth[:, None] != truth[None, :]].max()

    def test_a_reversed_client_is_the_least_similar(self) -> None:
        """The mistake that let reversed attackers look like their victims."""
        updates = ordinary(6)
        updates[5] = -updates[0]
        row = self.call(updates)[0] * (-1 if self.distance else 1)
        assert row[1:].argmin() == 4

    def test_the_input_is_not_modified(self) -> None:
        """Evidence is kept."""
        updates = ordinary(5)
        before = updates.copy()
        self.call(updates)
        np.testing.assert_array_equal(updates, before)


def _compare(piece: Measure, updates: np.ndarray) -> np.ndarray:
    columns = updates.shape[1]
    layers = ((0, columns // 2), (columns // 2, columns))
    return piece.compare(updates, layers=layers, **(piece.example or {}))
