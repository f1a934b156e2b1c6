"""Distances of pairs in loops and float64, written from their formulas."""

import numpy as np


def pairwise(rows, distance):
    rows = np.asarray(rows, float)
    return np.array([[distance(a, b) for b in rows] for a in rows])


def l1(a, b):
    return np.abs(a - b).sum()


def l2(a, b):
    return np.sqrt(((a - b) ** 2).sum())


def cosine(a, b):
    lengths = np.sqrt((a**2).sum()) * np.sqrt((b**2).sum())
    return 0.0 if lengths == 0 else (a * b).sum() / lengths


def trusted(a, b, layers):
    """Equation 2, one direction."""
    product = 1.0
    for start, stop in layers:
        change, length = l2(a[start:stop], b[start:stop]), l2(a[start:stop], 0)
        if length > 0:
            product *= 1 + change / length
        elif change > 0:
            product *= 2
    return product - 1
