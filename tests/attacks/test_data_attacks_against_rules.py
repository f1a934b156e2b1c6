"""Every attack on data against every rule: poisoned clients train honestly on what the attack left them."""

import numpy as np
import pytest

from flockwise.aggregation import RULES
from flockwise.attacks import ATTACKS
from flockwise.rng import generator

CLIENTS, ATTACKERS, CLASSES = 15, 3, 3
GIVEN = {
    "trimmed-mean": {"trim": 0.2}, "centered-clipping": {"radius": 0.1}, "norm-bound": {"radius": 0.2},
}  # fmt: skip
ROBUST = ["median", "trimmed-mean", "krum", "multi-krum", "bulyan", "geometric-median"]
LOUD = ["label-to", "label-flip", "noise"]  # a backdoor is made to be quiet
DATA_ATTACKS = [name for name, entry in ATTACKS.items() if entry.kind == "data"]


def _update(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """One step of softmax regression from zero."""
    flat = x.reshape(len(x), -1)
    wrong = np.eye(CLASSES)[y] - 1.0 / CLASSES
    return (flat.T @ wrong / len(x)).ravel().astype(np.float32)


def _round(attack: str | None) -> np.ndarray:
    """The updates of all clients; the first ones are attackers."""
    rows = []
    patterns = generator(0, "patterns").random((CLASSES, 4, 4, 1))
    for client in range(CLIENTS):
        rng = generator(1, "client", client)
        y = rng.permutation(np.arange(60) % CLASSES)
        x = (0.7 * patterns[y] + 0.3 * rng.random((60, 4, 4, 1))).astype(np.float32)
        if attack and client < ATTACKERS:
            piece = ATTACKS[attack]
            x, y = piece(**piece.example).of(client).poison(x, y, CLASSES, generator(2, attack, client))
        rows.append(_update(x, y))
    return np.stack(rows)


def _aggregated(rule: str, updates: np.ndarray) -> np.ndarray:
    piece = RULES[rule]
    given = dict(GIVEN.get(rule, {"f": ATTACKERS} if "f" in piece.wants else {}))
    if "root" in piece.wants:
        given["root"] = _round(None)[-1]
    result = piece.function(updates, **given)
    return result[0] if "memory" in piece.wants else result


def _harm(rule: str, attack: str) -> float:
    """How far the attack moves the rule's result, against the length of the honest mean."""
    honest = _round(None).mean(axis=0)
    return float(np.linalg.norm(_aggregated(rule, _round(attack)) - honest) / np.linalg.norm(honest))


@pytest.mark.parametrize("rule", list(RULES))
@pytest.mark.parametrize("attack", DATA_ATTACKS)
def test_every_rule_gives_a_usable_update_under_every_data_attack(attack: str, rule: str) -> None:
    result = _aggregated(rule, _round(attack))
    assert np.isfinite(result).all()
    if RULES[rule].bounded:  # nothing protects the others
        assert result @ _round(None).mean(axis=0) > 0


@pytest.mark.parametrize("rule", ROBUST)
@pytest.mark.parametrize("attack", LOUD)
def test_robust_rules_are_harmed_less_than_the_mean(attack: str, rule: str) -> None:
    assert _harm(rule, attack) < _harm("mean", attack)
