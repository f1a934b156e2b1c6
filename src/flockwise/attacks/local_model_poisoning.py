"""Local model poisoning (Fang, Cao, Jia and Gong, USENIX Security 2020): push the model against its course.

The attackers estimate the sign of each coordinate of the honest mean update and craft updates that move the
result of one given rule the other way. With full knowledge they see all updates of the round, with
partial knowledge only their own honest ones.
"""

from math import sqrt
from typing import Annotated, Literal

import numpy as np

from flockwise.attacks.contract import UpdateAttack, View, attack
from flockwise.attacks.knowledge import (
    center,
    needs,
    others_updates,
    own_updates,
    products,
    repeated,
    spread,
    squared_distances,
)
from flockwise.types import Updates

Target = Literal["krum", "median", "trimmed-mean"]

STRETCH = 2.0  # b in the paper: how far beyond the extreme honest value, as a factor
SMALLEST = 1e-5  # the search for Krum gives up below this step
NEAR = 0.01  # the paper's epsilon: how far the supporting updates lie from the crafted one


@attack(
    "updates that push the model against its course through a given rule",
    kind="update",
    paper="Fang, Cao, Jia and Gong, Local model poisoning, USENIX Security 2020",
)
def local_model_poisoning(
    target: Annotated[Target, "the rule it is made against"] = "krum",
    knowledge: Annotated[
        Literal["full", "partial"], "all updates of the round, or the attackers' own honest ones"
    ] = "full",
) -> UpdateAttack:
    """Updates crafted against `target`; median and trimmed mean meet the same ones.

    For Krum one update lies as far as possible against the course while Krum still selects it, and the
    other attackers support it from within a distance of 0.01. Krum's f is taken to be the true number of
    attackers.
    """
    full = knowledge == "full"

    def craft(view: View, rng: np.random.Generator) -> Updates:
        own = own_updates(view)
        others = others_updates(view, "local-model-poisoning") if full else None
        if target == "krum":
            return _against_krum(own, others, rng)
        if others is not None:
            return _beyond_extremes(own, others, rng)
        return _beyond_spread(own, rng)

    return UpdateAttack(craft, needs("all" if full else "own"))


def _against_krum(own: Updates, others: Updates | None, rng: np.random.Generator) -> Updates:
    attackers, parameters = own.shape
    honest = own if others is None else others
    known = own if others is None else np.concatenate([own, others])
    course = np.sign(center(known))
    crafted = -_largest_step(honest, course, attackers, others is not None) * course
    sent = repeated(crafted, attackers)
    if attackers > 1:
        shift = rng.standard_normal((attackers - 1, parameters), dtype=np.float32)
        length = np.linalg.norm(shift, axis=1, keepdims=True)
        # shorter where the crafted update itself is short, or the support would cost it the selection
        reach = min(NEAR, 0.01 * float(np.linalg.norm(crafted)))
        sent[1:] += shift * (reach / length * rng.random((attackers - 1, 1))).astype(np.float32)
    return sent


def _largest_step(honest: Updates, course: np.ndarray, attackers: int, full: bool) -> float:
    """The largest step against the course that Krum selects, by halving from the paper's upper bound.

    Partial knowledge: the attackers' own honest updates stand for the honest clients, with one crafted
    update beside them, then more until a step is found, as long as Krum's neighbours are not all crafted.
    """
    gram, along = products(honest, np.zeros(honest.shape[1]), course)
    square, distance = np.diagonal(gram), np.sqrt(squared_distances(gram))
    np.fill_diagonal(distance, np.inf)
    distance.sort(axis=1)
    parameters = float(np.abs(course).sum())
    if parameters == 0:
        return 0.0
    nearest = max(len(honest) - 2, 1)  # Krum's clients - f - 2 with f = the crafted updates
    step = 0.0
    for crafted in [attackers] if full else range(1, min(attackers, nearest) + 1):
        within = distance[:, : min(nearest, len(honest) - 1)].sum(axis=1).min()
        step = float(within / max(len(honest) - crafted - 1, 1) + sqrt(square.max())) / sqrt(parameters)
        while step > SMALLEST:
            away = np.maximum(square + 2 * step * along + step**2 * parameters, 0.0)
            if _selected(distance, away, crafted, nearest):
                return step
            step /= 2
    return step


def _selected(distance: np.ndarray, away: np.ndarray, crafted: int, nearest: int) -> bool:
    """Whether Krum prefers the crafted update, sent `crafted` times, to every honest one."""
    honest = np.square(distance[:, :-1]) if len(distance) > 1 else np.empty((1, 0))
    lies = np.repeat(away[:, None], crafted, axis=1)
    honest_scores = np.sort(np.concatenate([honest, lies], axis=1), axis=1)[:, :nearest].sum(axis=1)
    own_score = np.sort(np.concatenate([np.zeros(crafted - 1), away]))[:nearest].sum()
    return bool(own_score < honest_scores.min())


def _beyond_extremes(own: Updates, others: Updates, rng: np.random.Generator) -> Updates:
    """Full knowledge: random values between the extreme honest value and STRETCH times it."""
    everyone = np.concatenate([own, others])
    rising = center(everyone) > 0
    edge = np.where(rising, others.min(axis=0), others.max(axis=0)).astype(np.float64)
    outward = (edge < 0) == rising  # stretching this value leads away from the honest ones
    far = np.where(outward, edge * STRETCH, edge / STRETCH)
    return _between(edge, far, own, rng)


def _beyond_spread(own: Updates, rng: np.random.Generator) -> Updates:
    """Partial knowledge: random values three to four standard deviations against the course."""
    mean = center(own)
    against = np.where(mean > 0, -1.0, 1.0) * spread(own)
    return _between(mean + 3 * against, mean + 4 * against, own, rng)


def _between(near: np.ndarray, far: np.ndarray, own: Updates, rng: np.random.Generator) -> Updates:
    drawn = rng.random(own.shape, dtype=np.float32)
    drawn *= (far - near).astype(np.float32)
    drawn += near.astype(np.float32)
    return drawn
