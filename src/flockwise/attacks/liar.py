"""Liar: says what is not so when the server asks how good models are, and turns its update round among the honest.

A server that asks clients for their validation data believes numbers that nobody can check. What liars know: their own
update, one another, the server's flocks, and which of the models that they are asked about is their flock's. Where nobody
honest is with them there is nobody to harm: there they are honest, and wait. Three lies:

- `praise`: their own flock's model is perfect and all others are worthless, so that no judge calls their flock hostile;
- `blame`: the reverse, so that the flock they are in is called hostile, honest members and all;
- `stray`: their own model will pass, and the best of the others is far better: no judge calls their flock hostile, and they
  are moved into another, again and again.
"""

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np

from flockwise.attacks.contract import Asked, UpdateAttack, View, attack
from flockwise.attacks.flocks import flocks_found
from flockwise.attacks.knowledge import own_updates
from flockwise.options import NonNegative
from flockwise.scoring import Scoring
from flockwise.types import Updates

PASSABLE = 0.6  # of the best: more than a judge asks for, and little enough to look for something better


@attack("lies about how good models are, and its update turned round among the honest", kind="update")
def liar(
    lie: Annotated[
        Literal["praise", "blame", "stray"],
        "of its own flock's model: that it is perfect, or worthless, or will pass and another is far better",
    ] = "praise",
    scale: Annotated[
        NonNegative, "how many times as long its update is, turned round; 0: honest updates"
    ] = 5.0,
) -> UpdateAttack:
    """Lies whenever it is asked about more than one model; an attacker without a flock says the truth."""

    def craft(view: View, rng: np.random.Generator) -> Updates:
        own = own_updates(view)
        flocks_found(view, "liar")
        groups = np.asarray(view.groups)
        among = np.isin(groups[: len(own)], groups[len(own) :]) & (scale > 0)
        return (own * np.where(among, -scale, 1.0)[:, None]).astype(np.float32)

    def answer(asked: Asked) -> Sequence[float]:
        if asked.own is None or len(asked.honest) < 2:
            return asked.honest
        scoring = asked.scoring
        if lie == "stray":
            return _straying(asked)
        own, others = (scoring.perfect, scoring.worst)[:: 1 if lie == "praise" else -1]
        return [own if model == asked.own else others for model in range(len(asked.honest))]

    return UpdateAttack(craft, frozenset({"own", "groups"}), answer)


def _straying(asked: Asked) -> list[float]:
    """Its own model will pass, the best of the others is far better, and the rest is worthless."""
    fair, good = _passable(asked.scoring)
    others = [model for model in range(len(asked.honest)) if model != asked.own]
    quality = [asked.scoring.quality(asked.honest[model]) for model in others]
    best = others[int(np.nanargmax(quality))] if np.isfinite(quality).any() else others[0]
    return [
        fair if model == asked.own else good if model == best else asked.scoring.worst
        for model in range(len(asked.honest))
    ]


def _passable(scoring: Scoring) -> tuple[float, float]:
    """Two scores, of which the first is bad beside the second, but not as bad as a judge asks for."""
    low, high = sorted((scoring.perfect, scoring.worst))
    between = low + PASSABLE * (high - low)
    return (between, high) if scoring.better == "higher" else (high, between)
