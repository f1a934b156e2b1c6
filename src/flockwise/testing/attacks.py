"""What every attack must do."""

from typing import Any, ClassVar

import numpy as np

from flockwise.attacks import ATTACKS, DataAttack, UpdateAttack, View
from flockwise.rng import generator
from flockwise.testing.each import one_each
from flockwise.testing.examples import ordinary


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
            )
            return (attack.craft(view, rng),)
        x, y = generator(1, "attack battery").random((20, 8, 8, 1)).astype(np.float32), np.arange(20) % 4
        if attack.fitted is not None:
            return tuple(attack.fitted(x, y, 4, rng)[0](x, y, 4, rng))
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
