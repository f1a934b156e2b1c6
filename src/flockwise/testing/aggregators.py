"""What every aggregation rule must do."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest

from flockwise.testing.examples import ordinary, shuffled


class AggregatorBattery:
    """Give it `rule`; `parameters` are passed along, `minimum` is the fewest clients it takes.

    Set `translates` or `scales` to False for a rule that has a fixed radius or starting point, and `refuses`
    for one that leaves NaN and infinity to the gate.
    """

    rule: ClassVar[Callable[..., Any]]
    parameters: ClassVar[dict[str, Any]] = {}
    minimum: ClassVar[int] = 1
    translates: ClassVar[bool] = True
    scales: ClassVar[bool] = True
    refuses: ClassVar[bool] = True
    tolerance: ClassVar[float] = 2e-4

    def call(self, updates: np.ndarray) -> np.ndarray:
        """The rule on these updates."""
        return np.asarray(type(self).rule(updates, **self.parameters))

    def clients(self) -> int:
        """A comfortable number of clients."""
        return max(9, self.minimum)

    def test_gives_one_finite_float32_vector(self) -> None:
        """The result is a model update like any other."""
        result = self.call(ordinary(self.clients()))
        assert result.shape == (40,)
        assert result.dtype == np.float32
        assert np.isfinite(result).all()

    def test_the_order_of_clients_does_not_matter(self) -> None:
        """Up to rounding; the server sorts clients, so bits never depend on arrival."""
        updates = ordinary(self.clients())
        np.testing.assert_allclose(
            self.call(updates[shuffled(len(updates))]), self.call(updates), atol=self.tolerance
        )

    def test_the_input_is_not_modified(self) -> None:
        """Updates are used again after aggregation."""
        updates = ordinary(self.clients())
        before = updates.copy()
        self.call(updates)
        np.testing.assert_array_equal(updates, before)

    def test_equal_updates_give_that_update(self) -> None:
        """Whatever the rule does, agreement is respected."""
        updates = np.repeat(ordinary(1), self.clients(), axis=0)
        np.testing.assert_allclose(self.call(updates), updates[0], atol=self.tolerance)

    def test_moving_all_updates_moves_the_result(self) -> None:
        """Only where the rule has that property."""
        if self.translates:
            updates = ordinary(self.clients())
            np.testing.assert_allclose(
                self.call(updates + 2), self.call(updates) + 2, atol=20 * self.tolerance
            )

    def test_scaling_all_updates_scales_the_result(self) -> None:
        """Only where the rule has that property."""
        if self.scales:
            updates = ordinary(self.clients())
            np.testing.assert_allclose(
                self.call(2 * updates), 2 * self.call(updates), atol=20 * self.tolerance
            )

    def test_the_result_stays_among_the_updates(self) -> None:
        """No coordinate leaves the range that clients sent."""
        updates = ordinary(self.clients())
        result = self.call(updates)
        slack = self.tolerance + 1e-3
        if self.translates:
            assert (result >= updates.min(axis=0) - slack).all()
            assert (result <= updates.max(axis=0) + slack).all()

    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
    def test_numbers_that_are_not_finite_are_refused(self, bad: float) -> None:
        """The gate keeps them out, and the rule does not trust that it did."""
        if not self.refuses:
            return
        updates = ordinary(self.clients())
        updates[1, 3] = bad
        with pytest.raises(ValueError, match=r"."):
            self.call(updates)

    def test_the_smallest_input_works(self) -> None:
        """As few clients as it claims to need, and a single parameter."""
        assert self.call(ordinary(self.minimum, parameters=1)).shape == (1,)

    def test_the_same_input_gives_the_same_bits(self) -> None:
        """Twice."""
        updates = ordinary(self.clients())
        assert self.call(updates).tobytes() == self.call(updates.copy()).tobytes()
