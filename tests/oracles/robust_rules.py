"""The robust rules in loops and float64, written from their formulas."""

import itertools

import numpy as np


def krum_scores(rows, f, nearest=None):
    rows = np.asarray(rows, float)
    count = len(rows)
    nearest = count - f - 2 if nearest is None else nearest
    nearest = min(max(nearest, 1), count - 1)
    scores = []
    for i in range(count):
        others = sorted(float(((rows[i] - rows[j]) ** 2).sum()) for j in range(count) if j != i)
        scores.append(sum(others[:nearest]))
    return np.array(scores)


def best(rows, scores):
    """Lowest score; ties by content."""
    low = scores.min()
    tied = [i for i in range(len(rows)) if scores[i] <= low * (1 + 1e-6) + 1e-300]
    return min(tied, key=lambda i: (tuple(rows[i]), i))


def bulyan(rows, f):
    rows = np.asarray(rows, float)
    remaining, chosen = list(range(len(rows))), []
    for _ in range(len(rows) - 2 * f):
        part = rows[remaining]
        chosen.append(remaining.pop(best(part, krum_scores(part, f))))
    picked = np.sort(rows[chosen], axis=0)
    result = []
    for column in picked.T:
        middle = np.median(column)
        closest = sorted(column, key=lambda value: (abs(value - middle), value))[: len(column) - 2 * f]
        result.append(np.mean(closest))
    return np.array(result)


def trimmed_mean(rows, dropped):
    ordered = np.sort(np.asarray(rows, float), axis=0)
    return ordered[dropped : len(ordered) - dropped].mean(axis=0)


def sum_of_distances(rows, point, weights):
    return float((weights * np.linalg.norm(np.asarray(rows, float) - point, axis=1)).sum())


def centered_clipping(rows, radius, start, steps):
    center = np.array(start, float)
    for _ in range(steps):
        moves = []
        for row in np.asarray(rows, float):
            difference = row - center
            length = np.linalg.norm(difference)
            moves.append(difference * min(1.0, radius / length) if length > 0 else difference)
        center = center + np.mean(moves, axis=0)
    return center


def fltrust(rows, root):
    rows, root = np.asarray(rows, float), np.asarray(root, float)
    size = np.linalg.norm(root)
    total, trust = np.zeros_like(root), 0.0
    for row in rows:
        length = np.linalg.norm(row)
        if length == 0 or size == 0:
            continue
        score = max(0.0, row @ root / (length * size))
        trust += score
        total += score * size / length * row
    return total / trust if trust > 0 else total


def nearest_neighbor_mixing(rows, f):
    rows = np.asarray(rows, float)
    mixed = []
    for row in rows:
        order = np.argsort(((rows - row) ** 2).sum(axis=1), kind="stable")
        mixed.append(rows[order[: len(rows) - f]].mean(axis=0))
    return np.array(mixed)


def orders(count, most=6):
    """Some orders of clients."""
    return list(itertools.islice(itertools.permutations(range(count)), 1, 5000, 5000 // most))
