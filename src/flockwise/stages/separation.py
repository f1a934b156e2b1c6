"""Whether flocks are real: how far apart they are, measured in noise."""

import numpy as np

from flockwise.similarity.measure import Kind
from flockwise.types import Labels, Square


def separation(square: Square, labels: Labels, kind: Kind) -> float:
    """How much more alike clients are inside flocks than across, in standard deviations of what is left.

    Each client may be near or far from everybody (a noisy client, a long update): value of a pair = one part
    for each of its two clients + a step if both are in one flock + noise, fitted by least squares. The
    result is step / noise. A clusterer makes 1 to 3 out of noise alone, because it looks for what is near;
    real flocks of MNIST give 7 to 17 (docs/automatic-choices.md). Pairs never compared (NaN) do not count.
    """
    step, spread = _step_and_noise(square, labels, kind)
    return _in_noise(step, spread)


def seen_through_sketches(square: Square, labels: Labels, kind: Kind, blur: float, needed: float) -> bool:
    """Whether flocks would be `needed` apart if clients were compared exactly; `blur` is the variance of sketches' errors.

    Sketches make noise wider and leave the step as it is, so what they add to the noise is taken off again. Little is left
    where they make most of it, and then anything looks far apart: as it is seen, it must be beyond what a clusterer makes
    of noise, too.
    """
    step, spread = _step_and_noise(square, labels, kind)
    exact = _in_noise(step, float(np.sqrt(max(spread**2 - blur, 0.0))))
    return exact >= needed and _in_noise(step, spread) >= min(needed, beyond_noise(len(labels)))


def _in_noise(step: float, spread: float) -> float:
    if spread > 0:
        return step / spread
    return np.inf if step > 0 else 0.0


def _step_and_noise(square: Square, labels: Labels, kind: Kind) -> tuple[float, float]:
    """The step between inside and across, and the standard deviation of what is left; 0 if nothing is."""
    values = square if kind == "similarity" else -square
    compared = np.isfinite(values) & ~np.eye(len(labels), dtype=bool)
    inside = (labels[:, None] == labels[None, :]) & compared
    across = compared & ~inside
    if not inside.any() or not across.any():
        return 0.0, 1.0
    filled = np.where(compared, values, 0.0)
    own, step = _fitted(filled, compared, inside)
    rest = filled - own[:, None] - own[None, :] - step * inside
    pairs, unknowns = compared.sum() / 2, len(labels) + 1
    if pairs <= unknowns:  # too few pairs to tell clients' own parts from noise
        rest, step = filled, float(filled[inside].mean() - filled[across].mean())
        unknowns = 2
    spread = np.sqrt((rest[inside].var() + rest[across].var()) / 2 * pairs / max(pairs - unknowns, 1))
    return step, 0.0 if spread <= 1e-9 * np.abs(filled).max() else float(spread)


def beyond_noise(clients: int) -> float:
    """The separation that courses of so many clients of one kind, or with skewed labels, do not reach.

    Chosen on other data and seeds than the leaderboard's; benchmarks/defence/courses.py measures what noise reaches.
    """
    return 2.0 + 10.0 / clients


def _fitted(values: Square, compared: np.ndarray, inside: np.ndarray) -> tuple[np.ndarray, float]:
    """Each client's own part, and the step between inside and across: the normal equations."""
    count = len(values)
    normal = np.zeros((count + 1, count + 1))
    normal[:count, :count] = compared
    normal[np.arange(count), np.arange(count)] = compared.sum(axis=1)
    normal[:count, count] = normal[count, :count] = inside.sum(axis=1)
    normal[count, count] = inside.sum() / 2
    right = np.append(values.sum(axis=1), values[inside].sum() / 2)
    solution = np.linalg.lstsq(normal, right, rcond=None)[0]
    return solution[:count], float(solution[count])
