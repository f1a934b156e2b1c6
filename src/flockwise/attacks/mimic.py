"""Mimic (Karimireddy, He and Jaggi, ICLR 2022): all attackers copy one honest client."""

import numpy as np

from flockwise.attacks.contract import UpdateAttack, View
from flockwise.attacks.knowledge import center, needs, others_updates, own_updates, products, repeated, spread
from flockwise.errors import InputError
from flockwise.types import Updates

POWER_STEPS = 20


def mimic(target: int | None = None, epsilon: float = 0.0) -> UpdateAttack:
    """Nothing looks wrong, but one client's data count many times: an attack on non-IID clients.

    `target` is the row among the honest clients of the round; None picks the client that stands out most
    along the direction in which honest updates differ most (the paper learns it over rounds, here it is of
    this round). `epsilon` adds Gaussian noise of that share of each coordinate's spread, so that copies are
    not exactly equal.
    """
    if target is not None and target < 0:
        raise InputError(f"target = {target}: must be a row of the honest clients, from 0, or None")
    if not 0 <= epsilon < float("inf"):
        raise InputError(f"epsilon = {epsilon}: must be at least 0; 0 copies exactly")

    def craft(view: View, rng: np.random.Generator) -> Updates:
        attackers = len(own_updates(view))
        others = others_updates(view, "mimic")
        if target is not None and target >= len(others):
            raise InputError(
                f"target = {target}: must be below {len(others)}, the honest clients of the round"
            )
        chosen = target if target is not None else _most_remarkable(others, rng)
        sent = repeated(others[chosen], attackers)
        if epsilon > 0:
            noise = rng.standard_normal(sent.shape, dtype=np.float32)
            sent += noise * (epsilon * spread(others)).astype(np.float32)
        return sent

    return UpdateAttack("mimic", "exact copies of one honest client", needs("all"), craft)


def _most_remarkable(others: Updates, rng: np.random.Generator) -> int:
    mean = center(others)
    gram, _ = products(others, mean, mean)
    weights = rng.standard_normal(len(others))
    for _ in range(POWER_STEPS):
        weights = gram @ weights
        length = float(np.linalg.norm(weights))
        if length == 0:
            return 0  # all honest updates are equal
        weights /= length
    return int(np.abs(weights).argmax())
