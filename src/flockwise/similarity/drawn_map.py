"""A matrix of similarities or distances as a map of the clients."""

import numpy as np


def drawn_map(square: np.ndarray) -> np.ndarray:
    """Clients as points in the plane, near where they are alike (classical scaling); NaN if never compared."""
    heard = np.flatnonzero(np.isfinite(np.diag(square)))
    points = np.full((len(square), 2), np.nan, dtype=np.float32)
    if len(heard) < 3:
        return points
    inner = square[np.ix_(heard, heard)].astype(np.float64)
    inner = np.where(np.isfinite(inner), inner, np.mean(inner[np.isfinite(inner)]))
    own = np.diag(inner)
    away = own[:, None] / 2 + own[None, :] / 2 - inner  # similarities to squared distances
    away = np.abs(away) if own.max() > 0 else inner**2
    center = np.eye(len(heard)) - 1.0 / len(heard)
    values, vectors = np.linalg.eigh(-0.5 * center @ away @ center)
    axes = vectors[:, -2:][:, ::-1] * np.sqrt(np.maximum(values[-2:][::-1], 0.0))
    farthest = axes[np.abs(axes).argmax(axis=0), [0, 1]]
    axes *= np.where(farthest < 0, -1.0, 1.0)  # a sign that does not flip at random
    points[heard] = axes
    return points
