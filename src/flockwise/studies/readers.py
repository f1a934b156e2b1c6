"""Numbers of a finished run that take more than a curve: a study names them as flockwise.studies.readers:NAME."""

import numpy as np

from flockwise.metrics import adjusted_rand, purity
from flockwise.studies.finished import Finished

MOST_DRAWN = 50  # clients in a drawn matrix, so that results stay small


def attackers_apart(finished: Finished) -> float:
    """How many attackers are set apart at the end."""
    apart = finished.run.array_at("apart", finished.last)
    return float("nan") if apart is None else float((attackers(finished) & (apart != 0)).sum())


def last_set_apart(finished: Finished) -> float:
    """The last round in which clients were set apart; 0 if there is none."""
    return float(max((event.round for event in finished.run.events if event.kind == "quarantine"), default=0))


def official_of_own_models(finished: Finished) -> float:
    """Mean over clients of what the model each has gets right of the official test part."""
    models, labels = finished.models()
    used, counts = np.unique(labels[labels >= 0], return_counts=True)
    scores = np.array([finished.official(models[row]) for row in used])
    return float(scores @ counts / counts.sum())


def official_by_round(finished: Finished) -> dict[str, list[list[float]]]:
    """What the mean of all models gets right of the official test part, in percent, in every round that was kept."""
    rounds = sorted(set(finished.run.config["checkpoint"]["at"]) & set(finished.run.checkpoints))
    scores = [round(100.0 * finished.official_accuracy(r), 3) for r in rounds]
    return {"global model": [[float(r) for r in rounds], scores]}


def official_rise(finished: Finished) -> float:
    """How much more of the official test part the mean of all models gets right at the end than when it was kept before."""
    kept = official_by_round(finished)["global model"][1][-2:]
    return (kept[1] - kept[0]) / 100.0 if len(kept) == 2 else float("nan")


def rand_index_of_models(finished: Finished) -> float:
    """Adjusted Rand index of who has which model at the end, and the groups."""
    labels = finished.models()[1]
    placed = labels >= 0
    return adjusted_rand(labels[placed], groups(finished)[placed])


def contrast(finished: Finished) -> float:
    """Mean similarity of two clients of one group, less that of two groups, in the last matrix kept."""
    kept = finished.run.kept("similarity")
    square = finished.run.array_at("similarity", kept[-1]) if kept else None
    if square is None:
        return float("nan")
    truth, square = groups(finished), square.astype(np.float64)  # kept in half precision
    other = ~np.eye(len(truth), dtype=bool) & np.isfinite(square)
    same = truth[:, None] == truth[None, :]
    return float(square[same & other].mean() - square[~same & other].mean())


def similarities(finished: Finished) -> dict[str, list[list[float]]]:
    """Similarities by group at the first, tenth and last round kept, of every second client where there are 100."""
    order = np.argsort(groups(finished), kind="stable")
    order = order[:: max(len(order) // MOST_DRAWN, 1)]
    kept = finished.run.kept("similarity")
    found = {}
    for round in dict.fromkeys([kept[0], min(kept, key=lambda r: abs(r - 10)), kept[-1]] if kept else []):
        square = finished.run.array_at("similarity", round)
        if square is not None:
            shown = np.nan_to_num(square[np.ix_(order, order)].astype(float), nan=0.0)
            found[f"round {round}"] = np.round(shown, 2).tolist()
    return found


def pure_from(finished: Finished, complete: bool = False) -> float:
    """The first round from which no flock mixes groups, to the end; NaN if the last round still does."""
    truth, first = groups(finished), float("nan")
    for round, flock in zip(*finished.run.array("flock"), strict=True):
        placed = flock >= 0
        right = purity(flock[placed], truth[placed]) == 1.0
        right = right and (not complete or len(np.unique(flock[placed])) == len(np.unique(truth)))
        first = (first if first == first else float(round)) if right else float("nan")
    return first


def right_from(finished: Finished) -> float:
    """The first round from which flocks are exactly the groups, to the end."""
    return pure_from(finished, complete=True)


def compared(finished: Finished, round: int | None = None) -> float:
    """How many clients the similarity matrix knows."""
    square = finished.run.array_at("similarity", finished.last if round is None else round)
    return float("nan") if square is None else float(np.isfinite(np.diag(square)).sum())


def compared_first(finished: Finished) -> float:
    """The same after the first round."""
    return compared(finished, 1)


def at_target_by_round(finished: Finished, target: float) -> dict[str, list[list[float]]]:
    """Percent of the clients at a target, round by round."""
    rounds = finished.run.rounds.tolist()
    return {"clients at the target": [[round(100.0 * finished.at_target(target, r), 2) for r in rounds]]}


def groups(finished: Finished) -> np.ndarray:
    """The group that each client is truly of."""
    return np.array([client["truth"] for client in finished.run.clients])


def attackers(finished: Finished) -> np.ndarray:
    """Which clients attack."""
    return np.array([bool(client["attacker"]) for client in finished.run.clients])
