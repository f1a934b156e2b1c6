"""Rules that leave clients out, in loops, all subsets and float64, written from their formulas."""

import itertools

import numpy as np


def diameter(rows):
    return max((float(((a - b) ** 2).sum()) for a, b in itertools.combinations(rows, 2)), default=0.0)


def smallest_diameters(rows, keep):
    """Every subset of the smallest diameter, and that diameter, squared."""
    rows = np.asarray(rows, float)
    found = {
        subset: diameter(rows[list(subset)]) for subset in itertools.combinations(range(len(rows)), keep)
    }
    least = min(found.values())
    return [subset for subset, value in found.items() if value <= least * (1 + 1e-6)], least


def stretch(rows):
    """The largest eigenvalue of the covariance."""
    differences = rows - rows.mean(axis=0)
    return float(np.linalg.eigvalsh(differences.T @ differences / len(rows))[-1])


def least_stretched(rows, keep):
    rows = np.asarray(rows, float)
    found = {subset: stretch(rows[list(subset)]) for subset in itertools.combinations(range(len(rows)), keep)}
    least = min(found.values())
    return [subset for subset, value in found.items() if value <= least * (1 + 1e-5) + 1e-12]


def caf(rows, f, only_those_with_weight=True):
    """With `only_those_with_weight` False as in ByzFL: also who has lost all weight sets the scale."""
    rows = np.asarray(rows, float)
    weights, best, least = np.ones(len(rows)), rows.mean(axis=0), np.inf
    while weights.sum() > len(rows) - 2 * f:
        mean = (weights[:, None] * rows).sum(axis=0) / weights.sum()
        differences = rows - mean
        values, vectors = np.linalg.eigh((weights[:, None] * differences).T @ differences / weights.sum())
        if values[-1] < least:
            best, least = mean, values[-1]
        along = (differences @ vectors[:, -1]) ** 2
        largest = (along[weights > 0] if only_those_with_weight else along).max()
        weights = weights * np.maximum(1 - along / largest, 0)
    return best


def dnc(rows, f):
    """One draw of all coordinates."""
    rows = np.asarray(rows, float)
    centred = rows - rows.mean(axis=0)
    direction = np.linalg.svd(centred, full_matrices=False)[2][0]
    scores = (centred @ direction) ** 2
    return rows[np.argsort(scores)[: len(rows) - f]].mean(axis=0)


def meamed(rows, f):
    result = []
    for column in np.asarray(rows, float).T:
        middle = np.median(column)
        result.append(
            np.mean(sorted(column, key=lambda value: (abs(value - middle), value))[: len(column) - f])
        )
    return np.array(result)


def adaptive_clipping(rows, f):
    rows = np.array(rows, float)
    lengths = np.linalg.norm(rows, axis=1)
    clipped = int(2 * f / len(rows) * (len(rows) - f) + 1e-9)
    limit = sorted(lengths)[len(rows) - clipped - 1]
    return np.array(
        [row * min(1.0, limit / length) if length else row for row, length in zip(rows, lengths, strict=True)]
    )


def sybil_weights(histories):
    count = len(histories)
    alike = np.zeros((count, count))
    for i, j in itertools.permutations(range(count), 2):
        lengths = np.linalg.norm(histories[i]) * np.linalg.norm(histories[j])
        alike[i, j] = histories[i] @ histories[j] / lengths
    most = alike.max(axis=1) + 1e-5
    pardoned = alike.copy()
    for i, j in itertools.permutations(range(count), 2):
        if most[i] < most[j]:
            pardoned[i, j] = alike[i, j] * most[i] / most[j]
    weights = np.array([min(max(1 - row.max(), 0), 1) for row in pardoned])
    if weights.max() == 0:
        return weights
    weights = weights / weights.max()
    weights[weights > 0.99] = 0.99
    return np.clip(np.log(weights / (1 - weights) + 1e-5) + 0.5, 0, 1)


def hessian(joints):
    """The whole BFGS matrix, one step after another from a multiple of the identity."""
    steps, turns = np.asarray(joints[:-1], float), np.diff(np.asarray(joints, float), axis=0)
    matrix = (turns[-1] @ steps[-1]) / (steps[-1] @ steps[-1]) * np.eye(len(steps[0]))
    for step, turn in zip(steps, turns, strict=True):
        along = matrix @ step
        matrix = matrix - np.outer(along, along) / (step @ along) + np.outer(turn, turn) / (turn @ step)
    return matrix
