"""Insider: attackers that rehearse the whole defence, and send what harms most of what it would let pass.

Where `white-box` tries the server's rule alone, this one tries a copy of the server as it stands: its method with all
options, what it remembers of everybody (courses, flocks, sentences, trials), its seed and its gate. It is honest until
flocks were looked for. Then every candidate of the white box is tried, turned towards each attacker's own course if it
points against that. Of those with which everybody ends in the flock that honest updates would have led to, all send the one
that keeps the honest back most; if none does, honest updates. They know everybody's updates of the round, too, but not
the others' validation data: what the copy asks clients stays unanswered. Asked themselves, they call their own flock's model
as good as the best, so that no judge has their own word against them and nobody moves them.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated

import numpy as np

from flockwise.attacks.contract import Asked, Rehearsal, UpdateAttack, View, attack
from flockwise.attacks.flocks import KNOWS, flock_of, flocks_found
from flockwise.attacks.knowledge import center, others_updates, own_updates, turned_towards
from flockwise.attacks.white_box import candidates
from flockwise.errors import InputError
from flockwise.options import Several
from flockwise.types import Updates

ASIDE = 0.05  # least cosine with its own course: what points against it would not count


@attack(
    "of many directions and strengths, what a copy of the whole defence lets pass and stands worst",
    kind="update",
)
def insider(steps: Annotated[Several, "strengths that are tried in each direction"] = 3) -> UpdateAttack:
    """From the attackers of each flock what a rehearsal of the round says holds its honest members back most."""

    def craft(view: View, rng: np.random.Generator) -> Updates:
        others = others_updates(view, "insider")
        if view.rehearse is None:
            raise InputError("rehearse = None: insider needs a copy of the server")
        sent = own_updates(view).astype(np.float32)
        if not flocks_found(view, "insider"):
            return sent  # what it sends before will be held against it
        assert view.groups is not None
        groups = np.asarray(view.groups)
        for group in np.unique(groups[: len(sent)]):
            mine = np.flatnonzero(groups[: len(sent)] == group)
            mates = np.flatnonzero(groups[len(sent) :] == group)
            if len(mates) and np.isfinite(others).all():
                sent = _worst(view, sent, mine, mates, steps)
        return sent

    return UpdateAttack(craft, KNOWS | {"course", "defence"}, _praising)


def _worst(view: View, sent: Updates, mine: np.ndarray, mates: np.ndarray, steps: int) -> Updates:
    """What all send if the attackers of one flock choose, from honest updates on."""
    assert view.rehearse is not None and view.others is not None
    mean = center(view.others[mates])
    honest = view.rehearse(sent)
    best, least = sent, _progress(honest, mates, mean)
    for rows in _rows(view, mine, mean, steps):
        tried = sent.copy()
        tried[mine] = rows
        after = view.rehearse(tried)
        unseen = np.array_equal(after.own, honest.own) and np.array_equal(after.others, honest.others)
        if unseen and (progress := _progress(after, mates, mean)) < least:
            best, least = tried, progress
    return best


def _rows(view: View, mine: np.ndarray, mean: np.ndarray, steps: int) -> Iterator[Updates]:
    """The white box's candidates, from each turned towards its own course as far as it must be."""
    mates = flock_of(view, int(mine[0]), "insider")
    for row in candidates(mates, mean, steps):
        rows = np.tile(row, (len(mine), 1))
        if view.course is not None:
            length = float(np.linalg.norm(row))
            turned = [turned_towards(row, view.course[n].astype(np.float64), ASIDE) for n in mine]
            rows = np.stack(turned) * length
        yield rows.astype(np.float32)


def _progress(after: Rehearsal, mates: np.ndarray, mean: np.ndarray) -> float:
    """How far the honest of a flock get along their mean."""
    return float(np.mean(after.steps[mates].astype(np.float64) @ mean))


def _praising(asked: Asked) -> Sequence[float]:
    said = list(asked.honest)
    if asked.own is not None and np.isfinite(said).any():
        said[asked.own] = max(said, key=asked.scoring.quality)
    return said
