"""What every aggregation rule must do."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
import pytest

from flockwise.aggregation import PRE_AGGREGATIONS, RULES, RulePiece
from flockwise.aggregation.rule import as_rule
from flockwise.kernels import set_threads
from flockwise.testing.each import one_each
from flockwise.testing.examples import ordinary, shuffled

WRONG = [np.zeros((0, 4)), np.zeros((9, 0)), np.zeros(9), np.zeros((3, 3, 3)), [["a"] * 3] * 9, [[1], [1, 2]]]


class AggregatorBattery:
    """Give it `rule`, a function of updates or a registered piece; `parameters` are passed along.

    What a piece says of itself (`minimum`, `translates`, `scales`, `within`, `bounded`, `exact_order`, `mean_with`; see
    `flockwise.aggregation.RulePiece`) is what it is held to; a plain function is held to the defaults. A class attribute
    of the same name says otherwise. Set `refuses` to False for a rule that takes only what the gate lets through: finite
    float32 matrices.
    """

    rule: ClassVar[Callable[..., Any]]
    parameters: ClassVar[Mapping[str, Any]] = {}
    minimum: ClassVar[int | None] = None
    translates: ClassVar[bool | None] = None
    scales: ClassVar[bool | None] = None
    within: ClassVar[bool | None] = None
    bounded: ClassVar[bool | None] = None
    exact_order: ClassVar[bool | None] = None
    mean_with: ClassVar[Mapping[str, Any] | None] = None
    refuses: ClassVar[bool] = True
    refusal: ClassVar[str] = "."  # what the error says of a bad number
    tolerance: ClassVar[float] = 2e-4

    @classmethod
    def each(cls) -> "list[type[AggregatorBattery]]":
        """A battery for every registered rule."""
        return one_each(cls, _cases(RULES))

    @property
    def piece(self) -> RulePiece:
        """The rule with what it says of itself."""
        return as_rule(type(self).rule)

    def says(self, name: str) -> Any:
        """What the rule is held to."""
        own = getattr(type(self), name)
        return getattr(self.piece, name) if own is None else own

    def call(self, updates: Any, **changes: Any) -> np.ndarray:
        """The rule on these updates; its memory, if it has one, is empty."""
        piece = self.piece
        given = {**self.parameters, **changes}
        if "root" in piece.wants:
            given.setdefault("root", np.ones(np.shape(updates)[-1], np.float32))
        if "memory" in piece.wants:
            return np.asarray(piece.function(updates, **{"memory": {}, **given})[0])
        return np.asarray(piece.function(updates, **given))

    def fewest(self, f: int | None = None) -> int:
        """The fewest clients it takes."""
        if self.minimum is not None:
            return self.minimum
        given = dict(self.parameters if f is None else {**self.parameters, "f": f})
        return int(self.piece.minimum(given.pop("f", 0), **given))

    def clients(self) -> int:
        """A comfortable number of clients."""
        return max(9, self.fewest())

    def shape(self, clients: int, parameters: int) -> tuple[int, ...]:
        """The shape of the result."""
        return (parameters,)

    def check_order(self, updates: np.ndarray, order: np.ndarray) -> None:
        """Another order of clients gives the same result: bit for bit, or up to rounding."""
        first, second = self.call(updates), self.call(updates[order])
        if self.says("exact_order"):
            np.testing.assert_array_equal(second, first)
        else:
            np.testing.assert_allclose(second, first, rtol=1e-5, atol=1e-5)

    def check_moved_and_scaled(self, updates: np.ndarray, shift: np.ndarray | float, scale: float) -> None:
        """The result moves and scales with the updates, where the rule says so."""
        result = self.call(updates)
        shift = shift if self.says("translates") else 0.0
        scale = scale if self.says("scales") else 1.0
        np.testing.assert_allclose(
            self.call(updates * np.float32(scale) + np.float32(shift)), result * scale + shift, rtol=1e-4,
            atol=self.tolerance,
        )  # fmt: skip

    def check_threads(self, updates: np.ndarray) -> None:
        """The same bits for any number of threads."""
        try:
            results = [_with_threads(threads, self.call, updates) for threads in (1, 2, 3)]
        finally:
            set_threads(None)
        assert results[0].tobytes() == results[1].tobytes() == results[2].tobytes()

    def test_gives_one_finite_float32_vector(self) -> None:
        """The result is a model update like any other, and not a view of somebody's."""
        updates = ordinary(self.clients())
        result = self.call(updates)
        assert result.shape == self.shape(*updates.shape)
        assert result.dtype == np.float32
        assert np.isfinite(result).all()
        assert not np.shares_memory(result, updates)

    def test_the_order_of_clients_does_not_matter(self) -> None:
        """Also among equal numbers; the server sorts clients, so bits never depend on arrival."""
        self.check_order(ordinary(self.clients()), shuffled(self.clients()))
        for seed in range(25):
            rng = np.random.Generator(np.random.Philox(seed))
            equal = rng.integers(-3, 4, size=(self.clients(), 5)).astype(np.float32)
            self.check_order(equal, rng.permutation(len(equal)))

    def test_the_input_is_not_modified(self) -> None:
        """Updates are used again after aggregation."""
        updates = ordinary(self.clients())
        before = updates.copy()
        updates.setflags(write=False)
        self.call(updates)
        np.testing.assert_array_equal(updates, before)

    @pytest.mark.parametrize("size", [1, 7, 20000])
    def test_equal_updates_give_that_update(self, size: int) -> None:
        """Agreement is respected, but by rules that shorten or compare with something else."""
        if self.says("translates") and self.says("scales"):
            row = ordinary(1, size)[0]
            result = self.call(np.tile(row, (self.clients(), 1)))
            np.testing.assert_allclose(result, np.broadcast_to(row, result.shape), rtol=3e-7)

    def test_moving_all_updates_moves_the_result(self) -> None:
        """Only where the rule has that property."""
        if self.says("translates"):
            updates = ordinary(self.clients())
            np.testing.assert_allclose(
                self.call(updates + 2), self.call(updates) + 2, atol=20 * self.tolerance
            )
            self.check_moved_and_scaled(np.round(4 * updates), 3.0, 1.0)

    def test_scaling_all_updates_scales_the_result(self) -> None:
        """Only where the rule has that property."""
        if self.says("scales"):
            updates = ordinary(self.clients())
            np.testing.assert_allclose(
                self.call(2 * updates), 2 * self.call(updates), atol=20 * self.tolerance
            )
            self.check_moved_and_scaled(np.round(4 * updates), 0.0, 4.0)

    def test_the_result_stays_among_the_updates(self) -> None:
        """No coordinate leaves the range that clients sent; where the rule shortens, the range up to zero."""
        if not self.says("within"):
            return
        for clients in (1, 2, 3, self.clients()):
            if clients < self.fewest():
                continue
            for updates in (
                ordinary(clients),
                ordinary(clients, 1),
                np.abs(ordinary(clients, 5)) * np.float32(0.1),
            ):
                result, slack = self.call(updates), self.tolerance / 100
                low, high = updates.min(axis=0), updates.max(axis=0)
                if not self.says("translates"):
                    low, high = np.minimum(low, 0), np.maximum(high, 0)
                assert (result >= low - slack).all()
                assert (result <= high + slack).all()

    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
    def test_numbers_that_are_not_finite_are_refused(self, bad: float) -> None:
        """The gate keeps them out, and the rule does not trust that it did."""
        if not self.refuses:
            return
        cases = [(9, 40, 0, 0), (9, 40, 4, 17), (9, 40, 8, 39), (20, 40000, 13, 39999)]
        for clients, size, client, place in cases:
            updates = ordinary(max(clients, self.fewest()), size)
            updates[client, place] = bad
            with pytest.raises(ValueError, match=self.refusal.format(client=client, place=place)):
                self.call(updates)

    @pytest.mark.parametrize("wrong", WRONG)
    def test_what_is_no_matrix_of_numbers_is_refused(self, wrong: Any) -> None:
        """No clients, no parameters, other shapes, words."""
        if self.refuses:
            with pytest.raises(ValueError, match=r"."):
                self.call(wrong, **({"root": [1.0]} if "root" in self.piece.wants else {}))

    def test_lists_and_other_layouts_give_the_same_bits(self) -> None:
        """What a person calls it with may look otherwise."""
        if not self.refuses:
            return
        updates = ordinary(self.clients())
        expected = self.call(updates).tobytes()
        others: list[Any] = [updates.tolist(), updates.astype(np.float64), np.asfortranarray(updates),
                             np.repeat(updates, 2, axis=1)[:, ::2]]  # fmt: skip
        assert [self.call(same).tobytes() == expected for same in others] == [True] * 4

    @pytest.mark.parametrize("size", [1, 5])
    def test_the_smallest_input_works(self, size: int) -> None:
        """As few clients as it claims to need, and a single parameter."""
        for clients in range(self.fewest(), self.fewest() + 3):
            assert self.call(ordinary(clients, size)).shape == self.shape(clients, size)

    def test_one_client_fewer_than_it_needs_is_refused(self) -> None:
        """Where a rule is told how many attackers to expect."""
        for f in range(4) if "f" in self.piece.wants else ():
            needed = self.fewest(f)
            assert np.isfinite(self.call(ordinary(needed), f=f)).all()
            if needed > 1:
                with pytest.raises(ValueError, match="f = "):
                    self.call(ordinary(needed - 1), f=f)

    @pytest.mark.parametrize("f", [-1, 1.5, True])
    def test_an_impossible_number_of_attackers_is_refused(self, f: Any) -> None:
        """Where a rule is told how many to expect."""
        if "f" in self.piece.wants:
            with pytest.raises(ValueError, match="f = "):
                self.call(ordinary(self.clients()), f=f)

    def test_without_attackers_it_is_the_mean(self) -> None:
        """With the options with which the rule says so."""
        options = self.says("mean_with")
        if options is not None:
            updates = ordinary(self.clients())
            result = self.call(updates, **options)
            mean = np.broadcast_to(updates.astype(float).mean(axis=0), result.shape)
            np.testing.assert_allclose(result, mean, atol=2e-6)

    @pytest.mark.parametrize("value", [1e30, -1e30, 3e38, 1e-40])
    def test_a_huge_or_tiny_client_does_not_carry_the_result_away(self, value: float) -> None:
        """Only for rules that say that they are bounded."""
        if self.says("bounded"):
            updates = ordinary(self.clients())
            honest = np.abs(np.delete(updates, 3, axis=0)).max()
            updates[3, 2] = value
            result = self.call(updates)
            assert np.isfinite(result).all()
            assert np.abs(result).max() <= honest + 1.0

    def test_reversed_clients_up_to_the_contract_do_not_turn_the_result(self) -> None:
        """Only for rules that say that they are bounded."""
        if not self.says("bounded"):
            return
        rng = np.random.Generator(np.random.Philox(5))
        updates = (1 + 0.3 * rng.standard_normal((23, 200))).astype(np.float32)
        updates[:2] *= -100
        assert self.fewest(2) <= 23
        result = self.call(updates, **({"f": 2} if "f" in self.piece.wants else {}))
        along = float(result.sum())
        assert along > 0.8 * np.sqrt(200) * np.linalg.norm(result)
        if self.says("translates") or "root" in self.piece.wants:  # or it is shortened
            assert along > 0.9 * 0.9 * 200

    def test_the_same_bits_for_any_number_of_threads(self) -> None:
        """On a matrix that is worth several."""
        self.check_threads(ordinary(self.clients(), 70001))

    def test_the_same_input_gives_the_same_bits(self) -> None:
        """Twice."""
        updates = ordinary(self.clients())
        assert self.call(updates).tobytes() == self.call(updates.copy()).tobytes()

    def test_what_it_says_of_itself_fits_the_function(self) -> None:
        """One line of summary; options that can be checked; weights only where it takes them."""
        piece = self.piece
        assert piece.name
        assert piece.summary
        assert "\n" not in piece.summary
        options = {name: value for name, value in self.parameters.items() if name not in piece.given}
        assert options.items() <= piece.resolved(options).items()
        assert not piece.weighted or "weights" in piece.wants


class PreAggregationBattery(AggregatorBattery):
    """The same for functions from updates to updates, which go before a rule."""

    @classmethod
    def each(cls) -> "list[type[AggregatorBattery]]":
        """A battery for every registered pre-aggregation."""
        return one_each(cls, _cases(PRE_AGGREGATIONS))

    def shape(self, clients: int, parameters: int) -> tuple[int, ...]:
        """As many updates as it says that it leaves."""
        given = {name: value for name, value in self.parameters.items() if name not in self.piece.given}
        return int(self.piece.leaves(clients, **given)), parameters

    def check_order(self, updates: np.ndarray, order: np.ndarray) -> None:
        """The order of clients does not matter; where each has a row in the result, rows follow it."""
        first, second = self.call(updates), self.call(updates[order])
        first = first[order] if len(first) == len(updates) else first
        if self.says("exact_order"):
            np.testing.assert_array_equal(second, first)
        else:
            np.testing.assert_allclose(second, first, rtol=1e-5, atol=1e-5)


def _cases(pieces: Mapping[str, RulePiece]) -> dict[str, dict[str, Any]]:
    named = r"updates\[{client}, {place}\]"
    return {
        name: {"rule": piece, "parameters": dict(piece.example), "refusal": named}
        for name, piece in pieces.items()
        if piece.example is not None
    }


def _with_threads(threads: int, call: Callable[..., np.ndarray], updates: np.ndarray) -> np.ndarray:
    set_threads(threads)
    return call(updates)
