"""The cells of the communities paper; its figures are drawn, not tabled, so few numbers are published."""

import numpy as np

from flockwise.metrics import adjusted_rand
from flockwise.papers.cells import Cell, Measure, Paper, Prefix
from flockwise.papers.communities import claims
from flockwise.papers.finished import Finished

SIZES = {  # models are kept every few rounds, to judge the global one
    "full": ("checkpoint.at=[5, 10, 15, 20, 25, 30, 35, 40]",),
    "short": (
        "rounds=12",
        "model.name=lenet",
        "training.batch_size=10",
        "training.optimizer=sgd",
        "training.learning_rate=0.05",
        "checkpoint.at=[3, 6, 9, 12]",
    ),
    "smoke": (
        "rounds=2",
        "data.name=digits",
        "model.name=softmax",
        "training.learning_rate=0.01",
        "split.samples=40",
        "checkpoint.at=[1, 2]",
    ),
}
MAJORITIES, RESOLUTIONS = (0.3, 0.5, 0.7, 1.0), (0.8, 0.9, 1.0)
RATES = (1.0, 0.7, 0.5)
LATE_FROM = {"full": 10, "short": 4, "smoke": 1}


def cells(scale: str) -> list[Cell]:
    """Every cell."""
    small = SIZES[scale]
    found = [
        Cell("Figure 3", f"m_k {majority}, resolution {resolution}", "base", (
            *small, f"split.majority={majority}",
            f"strategy.resolution={round(1 / resolution, 6)}",  # the paper's grows with the communities' size
        ), _measures())
        for majority in MAJORITIES for resolution in RESOLUTIONS
    ]  # fmt: skip
    for attribution in ("avg", "1nn", "wnn", "late"):
        for rate in RATES:
            shared = (*small, f"sampling.fraction={rate}")
            fixed = (f"strategy.late_from={LATE_FROM[scale]}",) if attribution == "late" else ()
            published = 0.5 if attribution == "avg" and rate == 1.0 else None
            found.append(Cell("Figure 4", f"{attribution}, {rate:.0%}", "base",
                              (*shared, f"strategy.attribution={attribution}", *fixed), _measures(published),
                              _until_late(scale, attribution, shared), ("ari", "silhouette", "accuracy"),
                              _global_by_round))  # fmt: skip
    for rate in (1.0, 0.5):  # the paper ran IFCA with all clients only
        found.append(Cell("Figure 4", f"ifca, {rate:.0%}", "ifca", (*small, f"sampling.fraction={rate}"),
                          _measures()[:3], None, ("ari", "accuracy"), _global_by_round))  # fmt: skip
    found.append(Cell("Figure 2", "normalised similarities", "base", small, (
        Measure("similarity within less between communities", _contrast, None, "number"),
    ), arrays=_histograms))  # fmt: skip
    return found


def _until_late(scale: str, attribution: str, shared: tuple[str, ...]) -> Prefix | None:
    """Late is AVG until communities are fixed: worth sharing where rounds are long."""
    if scale != "full" or attribution not in ("avg", "late"):
        return None
    return Prefix("base", (*shared, "strategy.attribution=avg"), LATE_FROM[scale] - 1)


def _measures(silhouette: float | None = None) -> tuple[Measure, ...]:
    return (
        Measure("accuracy on the official test part", own_models_accuracy, None),
        Measure("adjusted Rand index", _communities_found, None, "number"),
        Measure("accuracy of the global model", global_model_accuracy, None),
        Measure("silhouette", lambda f: f.fact("silhouette"), None, "number"),
        Measure("silhouette as the authors compute it", their_silhouette, silhouette, "number"),
    )


def own_models_accuracy(finished: Finished) -> float:
    """Mean over clients of what the model of their community gets right, in percent."""
    models, labels = finished.models()
    used, counts = np.unique(labels[labels >= 0], return_counts=True)
    scores = np.array([finished.official(models[row]) for row in used])
    return 100.0 * float(scores @ counts / counts.sum())


def global_model_accuracy(finished: Finished, round: int | None = None) -> float:
    """What the plain mean of the communities' models gets right, in percent."""
    models, labels = finished.models(round)
    used = np.unique(labels[labels >= 0])
    return 100.0 * finished.official(models[used].astype(np.float64).mean(axis=0).astype(np.float32))


def _global_by_round(finished: Finished) -> dict[str, list[list[float]]]:
    """The same for every round whose models were kept."""
    rounds = sorted(set(finished.run.config["checkpoint"]["at"]) & set(finished.run.checkpoints))
    scores = [round(global_model_accuracy(finished, r), 3) for r in rounds]
    return {"global model": [[float(r) for r in rounds], scores]}


def _communities_found(finished: Finished) -> float:
    labels = finished.models()[1]
    truth = np.array([client["truth"] for client in finished.run.clients])
    placed = labels >= 0
    return adjusted_rand(labels[placed], truth[placed])


def their_silhouette(finished: Finished) -> float:
    """The authors' code counts a client, at distance 0, among the members of its own community; 0 for a single one.

    Of the last round whose distances are on record.
    """
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


def _squares(finished: Finished) -> dict[int, np.ndarray]:
    kept = {r: finished.run.array_at("similarity", r) for r in finished.run.kept("similarity")}
    return {r: square.astype(np.float64) for r, square in kept.items() if square is not None}


def _contrast(finished: Finished) -> float:
    square = list(_squares(finished).values())[-1]
    truth = np.array([client["truth"] for client in finished.run.clients])
    similar = _normalised(square)
    same, other = truth[:, None] == truth[None, :], ~np.eye(len(truth), dtype=bool)
    return float(np.nanmean(similar[same & other]) - np.nanmean(similar[~same & other]))


def _histograms(finished: Finished) -> dict[str, list[list[float]]]:
    """Counts of cubed similarities in ten bins, a row for each round on record: normalised, and raw.

    Raw similarities (max - distance)^3 are the normalised ones times a number that changes from round to
    round; Louvain does not see it, so that the paper's two trials are one run.
    """
    squares = _squares(finished)
    raw = {r: (np.nanmax(_others(s)) - _others(s)) ** 3 for r, s in squares.items()}
    widest = max(float(np.nanmax(values)) for values in raw.values())
    return {
        "rounds": [[float(r) for r in squares]],
        "normalised": [_counts(_others(_normalised(s)) ** 3, 1.0) for s in squares.values()],
        "raw": [_counts(values, widest) for values in raw.values()],
        "raw range": [[0.0, widest]],
    }


def _counts(values: np.ndarray, top: float) -> list[float]:
    counts = np.histogram(values[np.isfinite(values)], 10, (0, top or 1.0))[0]
    return [float(count) for count in counts]


def _others(square: np.ndarray) -> np.ndarray:
    return np.asarray(square[~np.eye(len(square), dtype=bool)])


def _normalised(square: np.ndarray) -> np.ndarray:
    low, high = np.nanmin(_others(square)), np.nanmax(_others(square))
    return np.asarray(1.0 - (square - low) / max(high - low, 1e-12))  # eq. 3


PAPER = Paper(
    "communities", "Client communities in federated learning", "communities", cells, claims.CLAIMS, claims.FIGURES,
    claims.READING, claims.SCALES, claims.NOTES,
)  # fmt: skip
