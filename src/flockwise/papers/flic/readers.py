"""Numbers that only FLIC reports."""

import numpy as np

from flockwise.metrics import purity
from flockwise.papers.finished import Finished

LAST = 50  # Table II: the best accuracy of the last 50 rounds
MOST_DRAWN = 50  # clients in a drawn similarity matrix, so that results stay small


def best_of_last(finished: Finished) -> float:
    """The best mean accuracy of the honest clients in the last 50 rounds, or in the last third of a short run."""
    count = min(LAST, max(finished.last // 3, 1))
    values = finished.run.facts["accuracy"][-count:]
    return float(np.nanmax(values)) if np.isfinite(values).any() else float("nan")


def mean_over(finished: Finished, first: int, last: int) -> float:
    """Mean accuracy of the rounds from `first` to `last` that were tested."""
    rounds, values = finished.run.rounds, finished.run.facts["accuracy"]
    return float(np.nanmean(values[(rounds >= first) & (rounds <= last)]))


def loyal_flocks(finished: Finished) -> float:
    """How many flocks have a loyal client."""
    return float(len(_loyal(finished)))


def loyal_members(finished: Finished) -> float:
    """Loyal clients in a flock that has any, on average."""
    return float(np.mean(_loyal(finished))) if _loyal(finished) else float("nan")


def wolves_apart(finished: Finished) -> float:
    """Share of clients whose flock does not mix loyal and malicious ones."""
    flock, attacker = _flocks(finished)
    placed = flock >= 0
    return purity(flock[placed], attacker[placed], kind="unmixed")


def pure_from(finished: Finished) -> float:
    """The first round from which no flock mixes groups, to the end; NaN if the last round still does."""
    return _from(finished, complete=False)


def right_from(finished: Finished) -> float:
    """The first round from which flocks are exactly the groups, to the end."""
    return _from(finished, complete=True)


def compared(finished: Finished, round: int | None = None) -> float:
    """How many clients the similarity matrix knows."""
    square = finished.run.array_at("similarity", finished.last if round is None else round)
    return float("nan") if square is None else float(np.isfinite(np.diag(square)).sum())


def contrast(finished: Finished) -> float:
    """Mean similarity of two clients of one group, less that of two groups, in the last matrix kept."""
    square = finished.run.array_at("similarity", finished.run.kept("similarity")[-1])
    assert square is not None
    groups = _groups(finished)
    other = ~np.eye(len(groups), dtype=bool) & np.isfinite(square)
    same = groups[:, None] == groups[None, :]
    return float(square[same & other].mean() - square[~same & other].mean())


def matrices(finished: Finished) -> dict[str, list[list[float]]]:
    """Similarities by group at the first, tenth and last round kept, of every second client where there are 100."""
    order = np.argsort(_groups(finished), kind="stable")
    order = order[:: max(len(order) // MOST_DRAWN, 1)]
    kept = finished.run.kept("similarity")
    wanted = dict.fromkeys([kept[0], min(kept, key=lambda r: abs(r - 10)), kept[-1]])
    found = {}
    for round in wanted:
        square = finished.run.array_at("similarity", round)
        assert square is not None
        shown = np.nan_to_num(square[np.ix_(order, order)].astype(float), nan=0.0)
        found[f"round {round}"] = np.round(shown, 2).tolist()
    return found


def _from(finished: Finished, complete: bool) -> float:
    groups = _groups(finished)
    rounds, flocks = finished.run.array("flock")
    first = float("nan")
    for round, flock in zip(rounds.tolist(), flocks, strict=True):
        placed = flock >= 0
        right = purity(flock[placed], groups[placed]) == 1.0
        if complete:
            right = right and len(np.unique(flock[placed])) == len(np.unique(groups))
        if not right:
            first = float("nan")
        elif first != first:
            first = float(round)
    return first


def _loyal(finished: Finished) -> list[int]:
    flock, attacker = _flocks(finished)
    honest = flock[(attacker == 0) & (flock >= 0)]
    return [int(count) for count in np.unique(honest, return_counts=True)[1]]


def _flocks(finished: Finished) -> tuple[np.ndarray, np.ndarray]:
    flock = finished.run.array_at("flock", finished.last)
    assert flock is not None
    return flock, np.array([client["attacker"] for client in finished.run.clients])


def _groups(finished: Finished) -> np.ndarray:
    return np.array([client["truth"] for client in finished.run.clients])
