"""FLDetector: leave out clients whose updates do not follow from their last ones.

Zhang, Cao, Jia, Gong: FLDetector, KDD 2022, algorithms 1 to 3. An honest client's update changes as the model moves: by the
Hessian times the step, which L-BFGS estimates from the joint updates so far. A rule with a memory: each client's last
update and its newest scores, and the newest joint updates. Where we differ: the paper starts training again without the
suspects; here they are left out of the mean as long as they are suspected. The paper has all clients in all rounds; one
that was away is compared with the last that it sent. Honest clients with data of their own are followed, too, but one
that lies in a steady way is not found.
"""

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from flockwise.aggregation.history import History
from flockwise.aggregation.rule import rule
from flockwise.kernels.checks import as_updates, refuse_not_finite
from flockwise.kernels.combine import squared_lengths, weighted_sum
from flockwise.notes import Shapes
from flockwise.options import Several
from flockwise.rng import generator
from flockwise.types import Updates, Vector

REFERENCES = 20  # uniform samples that the gap statistic compares with
LARGEST = np.finfo(np.float32).max
FEWEST = 3  # scores among which two kinds can be told


@rule(
    "mean of clients whose updates follow from their last ones",
    tolerates="attackers whose lies change from round to round, found after some rounds",
    cost="a few passes; keeps a model's size for each client",
    paper="Zhang et al., FLDetector, KDD 2022",
    translates=False,
    scales=False,
    mean_with={},
)
def fldetector(
    updates: Any,
    clients: Any = None,
    memory: Mapping[str, np.ndarray] | None = None,
    window: Annotated[Several, Shapes("rule"), "rounds over which scores are averaged"] = 10,
    seed: int = 0,
) -> tuple[Vector, dict[str, np.ndarray]]:
    """The mean without the clients that the scores of the last `window` rounds set off from the others."""
    rows = as_updates(updates)
    refuse_not_finite(rows)
    memory = memory or {}
    last = History.of(memory, clients, rows, "updates")
    scores = History.of(memory, clients, np.zeros((len(rows), window + 1), dtype=np.float32), "scores")
    joints = memory.get("joints", np.empty((0, rows.shape[1]), dtype=np.float32))
    told = scores.rows  # how many scores there were, then the newest
    if len(joints) > 1 and last.seen.any():
        told[last.seen, 0] += 1
        told[last.seen, 1:-1] = told[last.seen, 2:]
        told[last.seen, -1] = surprises(rows[last.seen], last.rows[last.seen], joints)
    trusted = np.ones(len(rows), dtype=np.bool_)
    judged = np.flatnonzero(told[:, 0] >= window)
    if len(judged) >= FEWEST:
        trusted[judged] = ~set_off(told[judged, 1:].astype(np.float64).mean(axis=1), seed)
    joint = weighted_sum(rows, trusted / trusted.sum())
    newest = np.concatenate([joints, joint[None]])[-window - 1 :]
    return joint, {**last.followed_by(rows), **scores.followed_by(told), "joints": newest}


def surprises(rows: Updates, last: Updates, joints: Updates) -> NDArray[np.float64]:
    """How far each update is from the one that was to be expected, as shares of all."""
    expected = np.clip(hessian_times_step(joints), -LARGEST, LARGEST).astype(np.float32)
    with np.errstate(over="ignore"):
        change = np.clip(rows - last, -LARGEST, LARGEST)
    away = np.sqrt(squared_lengths(change, expected))
    total = away.sum()
    return away / total if total > 0 else np.full(len(rows), 1.0 / len(rows))


def hessian_times_step(joints: Updates) -> NDArray[np.float64]:
    """By how much updates change with the last step of the model, by compact L-BFGS (Byrd, Nocedal and Schnabel, 1994).

    The model moved by each joint update in turn, so the steps are the joint updates but the last, and what the joint
    update changed by in each step is the difference to the next.
    """
    moves = joints.astype(np.float64)
    steps, turns, step = moves[:-1], np.diff(moves, axis=0), moves[-1]
    products, squares = steps @ turns.T, steps @ steps.T
    if squares[-1, -1] == 0:
        return np.zeros_like(step)
    scale = products[-1, -1] / squares[-1, -1]
    lower = np.tril(products, -1)
    middle = np.block([[scale * squares, lower], [lower.T, -np.diag(np.diagonal(products))]])
    right = np.concatenate([scale * (steps @ step), turns @ step])
    solved = np.linalg.lstsq(middle, right, rcond=None)[0]
    count = len(steps)
    product: NDArray[np.float64] = scale * step - (scale * solved[:count] @ steps + solved[count:] @ turns)
    return product if np.isfinite(product).all() else np.zeros_like(step)


def set_off(scores: NDArray[np.float64], seed: int) -> NDArray[np.bool_]:
    """The clients with high scores, if the gap statistic finds two kinds (Tibshirani, Walther and Hastie, 2001)."""
    span = np.ptp(scores)
    if span == 0:
        return np.zeros(len(scores), dtype=np.bool_)
    one, two, cut = _one_or_two((scores - scores.min()) / span)
    drawn = generator(seed, "fldetector").random((REFERENCES, len(scores)))
    references = np.log([_one_or_two(sample)[:2] for sample in drawn])
    error = references[:, 1].std() * np.sqrt(1 + 1 / REFERENCES)
    gain = (references[:, 1] - np.log(two)).mean() - (references[:, 0] - np.log(one)).mean()
    if gain <= error:
        return np.zeros(len(scores), dtype=np.bool_)
    return np.asarray((scores - scores.min()) / span > cut)


def _one_or_two(values: NDArray[np.float64]) -> tuple[float, float, float]:
    """Sums of squares around one mean and around the best two, and the value that parts these."""
    ordered = np.sort(values)
    count = np.arange(1, len(ordered))
    sums, squares = np.cumsum(ordered), np.cumsum(ordered**2)
    left = squares[:-1] - sums[:-1] ** 2 / count
    right = squares[-1] - squares[:-1] - (sums[-1] - sums[:-1]) ** 2 / (len(ordered) - count)
    best = int((left + right).argmin())
    one = squares[-1] - sums[-1] ** 2 / len(ordered)
    tiny = 1e-12  # of numbers from 0 to 1: two kinds without any spread have a logarithm, too
    return max(one, tiny), max(float((left + right)[best]), tiny), float(ordered[best])
