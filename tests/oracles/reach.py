"""How far f liars may carry the result of a rule, whatever they send: proved bounds, from the honest updates alone.

Each gives the distance that the result may be from the mean of the honest updates, or says of every coordinate between
which values it must lie. `wide` is the largest distance between two honest updates, `far` that of one from their mean.
"""

import numpy as np


def median(honest, count, f):
    """More than half are honest, so that the middle lies among them."""
    return honest.min(axis=0), honest.max(axis=0)


trimmed_mean = median  # what is left after f were dropped at each end lies between honest values


def meamed(honest, count, f):
    """The median lies among the honest, and count - f of them no farther from it than they span."""
    span = np.ptp(honest, axis=0)
    return honest.min(axis=0) - span, honest.max(axis=0) + span


bulyan = meamed  # the same among the chosen, of whom more than half are honest


def krum(honest, count, f):
    """An honest update scores at most (count - f - 2) wide^2, and who is chosen has count - 2f - 1 honest neighbours."""
    return _far(honest) + _wide(honest) * np.sqrt((count - f - 2) / (count - 2 * f - 1))


multi_krum = krum  # so do the count - f lowest scores


def mda(honest, count, f):
    """Who is chosen lies within `wide` of an honest update that is chosen."""
    return _far(honest) + _wide(honest)


def smea(honest, count, f):
    """Two sets of count - f that share count - 2f: each mean is that of the shared ones within its own spread."""
    centred = honest - honest.mean(axis=0)
    largest = np.linalg.eigvalsh(centred.T @ centred / len(honest))[-1]
    return 2 * np.sqrt(max(largest, 0.0) * f / (count - 2 * f))


def geometric_median(honest, count, f):
    """To move on from the honest mean costs count - f clients at least what it gains with f, but for their own distances."""
    return 2 * (count - f) / (count - 2 * f) * _far(honest)


def _far(honest):
    return np.linalg.norm(honest - honest.mean(axis=0), axis=1).max()


def _wide(honest):
    return np.linalg.norm(honest[:, None] - honest[None], axis=2).max()
