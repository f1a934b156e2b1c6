"""What every attack must do."""

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from flockwise.attacks import ATTACKS, DataAttack, UpdateAttack, View
from flockwise.attacks.contract import Rehearsal
from flockwise.rng import generator
from flockwise.testing.each import one_each
from flockwise.testing.examples import ordinary


def _rehearsed(others: np.ndarray, own: np.ndarray) -> Rehearsal:
    """A server that takes the mean and finds no flocks."""
    mean = np.concatenate([own, others]).mean(axis=0)
    labels = np.zeros(len(own) + len(others), dtype=np.int64)
    return Rehearsal(labels[: len(own)], labels[len(own) :], np.tile(mean, (len(others), 1)))


class _Linear:
    """A model that attackers look into: whatever is asked of it, more light speaks for it."""

    def gradients(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, Sequence[np.ndarray]]:
        """The same for all samples and weights."""
        return -np.ones_like(x), [np.ones((2, 2))]

    def trained(self, x: np.ndarray, y: np.ndarray, epochs: int) -> tuple["_Linear", Sequence[np.ndarray]]:
        """Nothing is learned."""
        return self, [np.ones((2, 2))]


class AttackBattery:
    """Give it `attack`, made by its factory."""

    attack: ClassVar[Any]
    rule: ClassVar[str] = "krum"

    @classmethod
    def each(cls) -> "list[type[AttackBattery]]":
        """A battery for every registered attack."""
        cases = {
            name: {"attack": piece(**piece.example)}
            for name, piece in ATTACKS.items()
            if piece.example is not None
        }
        return one_each(cls, cases)

    def result(self) -> tuple[np.ndarray, ...]:
        """What the attack makes of an ordinary round, or of ordinary data."""
        attack, rng = type(self).attack, generator(0, "attack battery")
        if isinstance(attack, UpdateAttack):
            everyone = ordinary(12)
            knows = attack.knows
            view = View(
                everyone[:3].copy(),
                everyone[3:].copy() if "all" in knows else None,
                self.rule if "rule" in knows else None,
                {"f": 3} if "rule" in knows else None,
                np.zeros(12, dtype=np.int64) if "groups" in knows else None,
                True if "groups" in knows else None,
                (lambda rows: np.median(rows, axis=0)) if "rule" in knows else None,
                rehearse=partial(_rehearsed, everyone[3:]) if "defence" in knows else None,
            )
            return (attack.craft(view, rng),)
        x, y = generator(1, "attack battery").random((20, 8, 8, 1)).astype(np.float32), np.arange(20) % 4
        if attack.through is not None:
            return tuple(attack.through(_Linear(), x, y, 4, rng)[0](x, y, 4, rng))
        return tuple(attack.of(1).poison(x, y, 4, rng))

    def test_is_one_of_the_two_kinds(self) -> None:
        """On updates, or on data."""
        assert isinstance(type(self).attack, UpdateAttack | DataAttack)

    def test_sends_finite_rows_of_the_right_shape(self) -> None:
        """What goes on the wire looks like an update, or like data."""
        result = self.result()
        if len(result) == 1:
            assert result[0].shape == (3, 40)
            assert result[0].dtype == np.float32
        else:
            assert result[0].shape == (20, 8, 8, 1)
            assert set(result[1].tolist()) <= set(range(4))
        assert all(np.isfinite(part).all() for part in result)

    def test_the_same_seed_gives_the_same_attack(self) -> None:
        """Attackers are reproducible too."""
        for one, two in zip(self.result(), self.result(), strict=True):
            np.testing.assert_array_equal(one, two)
