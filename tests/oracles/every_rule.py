"""A twin of every rule and every step before one: the same from its formula, in loops and float64, for small cases.

A twin is given the updates, how many may lie and the rule's options, and says what is to come out; None where two answers
are as good up to rounding, and the case tells nothing.
"""

import itertools
import warnings

import numpy as np
from tests.oracles import filtering_rules, robust_rules

from flockwise.rng import generator


def mean(rows, f, weights):
    return np.average(rows, axis=0, weights=weights)


def median(rows, f):
    return np.median(rows, axis=0)


def trimmed_mean(rows, f, trim):
    return robust_rules.trimmed_mean(rows, int(np.floor(trim * len(rows) + 1e-9)))


def krum(rows, f):
    return rows[robust_rules.best(rows, robust_rules.krum_scores(rows, f))]


def multi_krum(rows, f, m):
    scores, keep = robust_rules.krum_scores(rows, f), len(rows) - f if m is None else m
    return _mean_of_lowest(rows, scores, keep)


def bulyan(rows, f):
    return robust_rules.bulyan(rows, f)


def mda(rows, f):
    subsets, _ = filtering_rules.smallest_diameters(rows, len(rows) - f)
    return _the_one(rows[list(subset)].mean(axis=0) for subset in subsets)


def smea(rows, f):
    subsets = filtering_rules.least_stretched(rows, len(rows) - f)
    return _the_one(rows[list(subset)].mean(axis=0) for subset in subsets)


def caf(rows, f):
    return filtering_rules.caf(rows, f)


def dnc(rows, f):
    centred = rows - rows.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred)
    if len(values) > 1 and values[-1] < values[-2] * 1.01:
        return None  # two directions are as long
    return _mean_of_lowest(rows, (centred @ vectors[:, -1]) ** 2, len(rows) - f)


def meamed(rows, f):
    return filtering_rules.meamed(rows, f)


def monna(rows, f, root):
    return _mean_of_lowest(rows, ((rows - root) ** 2).sum(axis=1), len(rows) - f)


def geometric_median(rows, f, weights):
    """Newton's way to the least sum of distances; None where it lies on an update, or is not one point."""
    shares = weights / weights.sum()
    point = shares @ rows
    for _ in range(200):
        away = rows - point
        lengths = np.linalg.norm(away, axis=1)
        if lengths.min() < 1e-3:
            return None
        units = away / lengths[:, None]
        pull = (shares[:, None] * units).sum(axis=0)
        curve = (shares / lengths).sum() * np.eye(rows.shape[1]) - (units.T * shares / lengths) @ units
        if np.linalg.eigvalsh(curve)[0] < 1e-3:
            return None  # all on one line
        step, here = np.linalg.solve(curve, pull), shares @ lengths
        while shares @ np.linalg.norm(rows - point - step, axis=1) > here and np.abs(step).max() > 1e-12:
            step = step / 2
        point = point + step
        if np.abs(step).max() < 1e-10:
            return point
    return None


def centered_clipping(rows, f, radius, start, steps):
    return robust_rules.centered_clipping(rows, radius, start, steps)


def norm_bound(rows, f, radius):
    return clipping(rows, f, radius).mean(axis=0)


def clipping(rows, f, radius):
    return np.array(
        [row * min(1.0, radius / length) if (length := np.linalg.norm(row)) else row for row in rows]
    )


def adaptive_clipping(rows, f):
    return filtering_rules.adaptive_clipping(rows, f)


def fltrust(rows, f, root):
    cosines = rows @ root
    return None if (np.abs(cosines[cosines != 0]) < 1e-3).any() else robust_rules.fltrust(rows, root)


def nearest_neighbor_mixing(rows, f):
    mixed = []
    for row in rows:
        mixed.append(_mean_of_lowest(rows, ((rows - row) ** 2).sum(axis=1), len(rows) - f))
        if mixed[-1] is None:
            return None
    return np.array(mixed)


def bucketing(rows, f, s, seed):
    by_content = sorted(range(len(rows)), key=lambda client: tuple(rows[client]))
    places = generator(seed, "bucketing").permutation(len(rows))
    buckets = [places[start : start + s] for start in range(0, len(rows), s)]
    return np.array([np.mean([rows[by_content[place]] for place in bucket], axis=0) for bucket in buckets])


def flame(rows, f, noise):
    from sklearn.cluster import HDBSCAN

    count, lengths = len(rows), np.linalg.norm(rows, axis=1)
    admitted = list(range(count))
    if count > 2:
        angles = np.zeros((count, count))
        for i, j in itertools.permutations(admitted, 2):
            angles[i, j] = round(1 - rows[i] @ rows[j] / (lengths[i] * lengths[j]), 9)
        found = HDBSCAN(
            metric="precomputed", min_cluster_size=count // 2 + 1, min_samples=2, allow_single_cluster=True, copy=True
        ).fit((angles + angles.T) / 2)  # fmt: skip
        admitted = [client for client in admitted if found.labels_[client] == 0] or admitted
    return clipping(rows[admitted], f, float(np.median(lengths))).mean(axis=0)


def signguard(rows, f, share):
    from sklearn.cluster import MeanShift, estimate_bandwidth

    lengths = np.linalg.norm(rows, axis=1)
    middle = float(np.median(lengths))
    bounds = np.array([0.1, 3.0]) * middle
    if np.abs(lengths[:, None] - bounds).min() < 1e-4 * middle:
        return None  # on the bound
    usual = [client for client in range(len(rows)) if bounds[0] <= lengths[client] <= bounds[1]]
    usual = usual or list(range(len(rows)))
    counts = [[sum(np.sign(row) == sign) / len(row) for sign in (1, 0, -1)] for row in rows]
    shares = np.array(counts) / np.maximum(np.max(counts, axis=0), 1e-8)
    order = sorted(range(len(rows)), key=lambda client: tuple(shares[client][::-1]))
    width = float(estimate_bandwidth(shares[order], quantile=0.5)) if len(rows) > 1 else 0.0
    if width == 0.0:
        alike = [client for client in order if (shares[client] == np.median(shares, axis=0)).all()]
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # where bins are too small for seeds
            labels = (
                MeanShift(bandwidth=width, bin_seeding=True, cluster_all=False).fit(shares[order]).labels_
            )
        sizes = [sum(labels == label) for label in range(max(labels) + 1)] or [0]
        alike = [client for client, label in zip(order, labels, strict=True) if label == np.argmax(sizes)]
    chosen = sorted(set(usual) & set(alike)) or usual
    return clipping(rows[chosen], f, middle).mean(axis=0)


def foolsgold(rows, f, before):
    weights = filtering_rules.sybil_weights(before + rows)
    return None if weights.sum() < 1e-3 else weights @ rows / weights.sum()


def momentum(rows, f, before, beta):
    return beta * before + (1 - beta) * rows


def fldetector(rows, f):
    """Before it has seen enough rounds."""
    return rows.mean(axis=0)


def _mean_of_lowest(rows, scores, keep):
    """None if it is not clear which these are."""
    order = np.argsort(scores, kind="stable")
    if keep < len(rows) and scores[order[keep]] <= scores[order[keep - 1]] * 1.001 + 1e-6:
        return None
    return rows[order[:keep]].mean(axis=0)


def _the_one(results):
    """None if there are several."""
    first, *others = results
    return None if any(np.abs(first - other).max() > 1e-6 for other in others) else first
