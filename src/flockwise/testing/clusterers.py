"""What every clusterer must do."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from flockwise.clustering import CLUSTERERS, as_clustering
from flockwise.clustering.contract import Takes
from flockwise.metrics import adjusted_rand
from flockwise.testing.each import one_each
from flockwise.testing.examples import flocks, shuffled
from flockwise.types import Labels


class ClustererBattery:
    """Give it `cluster`: a function, an estimator with `fit_predict`, or its class and `parameters`.

    `takes` says what it must be given where its own attributes do not: similarities, distances or points.
    """

    cluster: ClassVar[Any]
    parameters: ClassVar[Mapping[str, Any]] = {}
    takes: ClassVar[Takes | None] = None
    most_flocks: ClassVar[int | None] = None  # a clusterer that only ever finds so many

    @classmethod
    def each(cls) -> "list[type[ClustererBattery]]":
        """A battery for every registered clusterer."""
        tried = {name: piece for name, piece in CLUSTERERS.items() if piece.example is not None}
        cases = {
            name: {"cluster": piece, "parameters": piece.example, "most_flocks": piece.most_flocks}
            for name, piece in tried.items()
        }
        return one_each(cls, cases)

    def call(self, rows: np.ndarray) -> Labels:
        """The clusterer on what it takes, made from these rows."""
        away = np.linalg.norm(rows[:, None].astype(np.float64) - rows[None], axis=2)
        given = {"points": rows, "distance": away, "similarity": np.exp(-((away / np.median(away)) ** 2))}
        ready = as_clustering(type(self).cluster, self.parameters)
        return ready.cluster(given[self.takes or ready.takes])

    def sizes(self) -> tuple[int, ...]:
        """Flocks it should be able to find."""
        return (5, 4, 6)[: self.most_flocks]

    def test_every_client_is_in_one_flock_counted_from_zero(self) -> None:
        """A partition."""
        rows, truth = flocks(self.sizes())
        labels = self.call(rows)
        assert labels.shape == truth.shape
        assert set(labels.tolist()) == set(range(int(labels.max()) + 1))

    def test_finds_flocks_that_are_plainly_there(self) -> None:
        """Never judged by their number alone."""
        for seed in range(3):
            rows, truth = flocks(self.sizes(), seed=seed)
            assert adjusted_rand(self.call(rows), truth) == 1.0

    def test_the_order_of_clients_does_not_matter(self) -> None:
        """The same partition for reordered clients."""
        rows, _ = flocks(self.sizes())
        order = shuffled(len(rows))
        assert adjusted_rand(self.call(rows[order]), self.call(rows)[order]) == 1.0

    def test_the_same_input_gives_the_same_labels(self) -> None:
        """Twice."""
        rows, _ = flocks(self.sizes())
        np.testing.assert_array_equal(self.call(rows), self.call(rows.copy()))
