"""Numbers that only the communities paper reports."""

import numpy as np

from flockwise.studies import readers
from flockwise.studies.finished import Finished


def their_silhouette(finished: Finished) -> float:
    """The authors' code counts a client, at distance 0, among the members of its own community; 0 for a single one."""
    squares = _squares(finished)
    if not squares:
        return float("nan")
    last, square = list(squares.items())[-1]
    np.fill_diagonal(square, 0.0)
    heard = np.isfinite(square).sum(axis=1) > 1  # a client has distances only once it has trained
    square, flocks = square[np.ix_(heard, heard)], np.asarray(finished.run.array_at("flock", last))[heard]
    names = np.unique(flocks)
    away = np.stack([np.nanmean(square[:, flocks == name], axis=1) for name in names], axis=1)
    at_home = flocks[:, None] == names
    own, next_one = away[at_home], np.where(at_home, np.inf, away).min(axis=1)
    return float(np.mean((next_one - own) / np.maximum(next_one, own))) if len(names) > 1 else 0.0


def contrast(finished: Finished) -> float:
    """How much more alike two clients of one community are than two of different ones, from distances (eq. 3)."""
    distances = _others(list(_squares(finished).values())[-1])
    return -readers.contrast(finished) / max(float(distances.max() - distances.min()), 1e-12)


def histograms(finished: Finished) -> dict[str, list[list[float]]]:
    """Counts of cubed similarities in ten bins, a row for each round on record: normalised, and raw."""
    squares = _squares(finished)
    raw = {r: (_others(s).max() - _others(s)) ** 3 for r, s in squares.items()}
    top = max(float(values.max()) for values in raw.values()) or 1.0
    return {
        "rounds": [[float(r) for r in squares]],
        "normalised": [np.histogram(_others(_normalised(s)) ** 3, 10, (0, 1.0))[0].tolist() for s in squares.values()],
        "raw": [np.histogram(values, 10, (0, top))[0].tolist() for values in raw.values()], "raw range": [[0.0, top]],
    }  # fmt: skip


def _squares(finished: Finished) -> dict[int, np.ndarray]:
    kept = {r: finished.run.array_at("similarity", r) for r in finished.run.kept("similarity")}
    return {r: square.astype(np.float64) for r, square in kept.items() if square is not None}


def _others(square: np.ndarray) -> np.ndarray:
    return np.asarray(square[~np.eye(len(square), dtype=bool) & np.isfinite(square)])


def _normalised(square: np.ndarray) -> np.ndarray:
    low, high = _others(square).min(), _others(square).max()
    return np.asarray(1.0 - (square - low) / max(high - low, 1e-12))  # eq. 3
