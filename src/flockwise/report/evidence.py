"""What flocks were found in: similarities, maps and dendrograms, small enough for one page."""

from typing import Any

import numpy as np

from flockwise.report.encoding import number, numbers, packed, quantised
from flockwise.report.places import Places
from flockwise.similarity.drawn_map import drawn_map
from flockwise.store import Run

MOST_ROUNDS = 6  # matrices in a page
MOST_CELLS_WIDE = 200  # a side of a matrix; beyond it, neighbours are averaged
MOST_AGREEMENTS = 24
MOST_COMPARED = 2000  # clients of a matrix that are read at all; of more, evenly spaced ones
MOST_SCALED = 600  # clients whose map is worked out from their similarities


def spread_rounds(kept: list[int], wanted: set[int], most: int) -> list[int]:
    """At most so many of the kept rounds: the wanted ones first, then evenly spaced, the last always."""
    if len(kept) <= most:
        return kept
    even = [kept[int(i)] for i in np.rint(np.linspace(0, len(kept) - 1, most))]
    ranked = [kept[-1], *[r for r in kept if r in wanted], *even]
    return sorted(dict.fromkeys(ranked).keys(), key=ranked.index)[:most]


def similarity_pages(run: Run, known: Places, turning: set[int]) -> list[dict[str, Any]]:
    """Matrices ordered by flock, and how well each client agrees with each flock."""
    pages = []
    kept = run.kept("similarity")
    drawn = set(spread_rounds(kept, turning, MOST_ROUNDS))
    for round in sorted(drawn | set(spread_rounds(kept, turning, MOST_AGREEMENTS))):
        square = run.array_at("similarity", round)
        places = known.at(round)
        if square is None or places is None or square.shape != (len(places), len(places)):
            continue
        some = np.arange(0, len(square), -(-len(square) // MOST_COMPARED))
        few = square[np.ix_(some, some)] if len(some) < len(square) else square
        wide = np.where(np.isfinite(few), few, np.nan).astype(np.float64)
        page: dict[str, Any] = {
            "round": round,
            "agreement": _agreement(wide, places[some], some, len(places)),
        }
        if round in drawn:
            truth = np.array([-1 if client["truth"] is None else client["truth"] for client in run.clients])
            page |= _matrix(wide, places[some], truth[some] if len(truth) == len(places) else some, some)
        pages.append(page)
    return pages


def _matrix(square: np.ndarray, places: np.ndarray, truth: np.ndarray, clients: np.ndarray) -> dict[str, Any]:
    order = np.lexsort((truth, np.where(places < 0, 10**6 - places, places)))
    ordered = square[np.ix_(order, order)]
    others = ordered[~np.eye(len(ordered), dtype=bool)]
    others = others[np.isfinite(others)]
    low, high = np.quantile(others, [0.005, 0.995]) if len(others) else (0.0, 1.0)
    diagonal = np.diagonal(ordered)
    distance = bool(len(others) and np.isfinite(diagonal).any() and np.nanmean(diagonal) < others.mean())
    step = -(-len(ordered) // MOST_CELLS_WIDE)
    starts = np.arange(0, len(ordered), step)
    return {
        "kind": "distance" if distance else "similarity",
        "order": packed(clients[order].astype(np.uint16 if clients.max(initial=0) < 65_536 else np.uint32)),
        "step": step,
        "values": quantised(_averaged(ordered, starts), float(low), float(high)),
    }


def _averaged(square: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Means over blocks of cells that were compared."""
    if len(starts) == len(square):
        return square
    seen = np.isfinite(square)
    sums = np.add.reduceat(np.add.reduceat(np.where(seen, square, 0.0), starts, 0), starts, 1)
    counts = np.add.reduceat(np.add.reduceat(seen.astype(float), starts, 0), starts, 1)
    return np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)


def _agreement(square: np.ndarray, places: np.ndarray, clients: np.ndarray, everyone: int) -> dict[str, Any]:
    """(clients, flocks) mean value between a client and the other members of each flock."""
    flocks = np.unique(places[places >= 0])[:40]
    others = square.copy()
    np.fill_diagonal(others, np.nan)
    seen = np.isfinite(others)
    member = (places[:, None] == flocks[None, :]).astype(float)
    counts = seen.astype(float) @ member
    sums = np.where(seen, others, 0.0) @ member
    means = np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)
    whole = np.full((everyone, len(flocks)), np.nan)
    whole[clients] = means
    finite = means[np.isfinite(means)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    return {"flocks": flocks.tolist(), "values": quantised(whole, low, high)}


def maps(run: Run, known: Places, turning: set[int]) -> list[dict[str, Any]]:
    """2-D maps of the clients: as recorded, or else worked out from their similarities."""
    pages = []
    for round in sorted(spread_rounds(run.kept("map"), turning, MOST_ROUNDS)):
        points = run.array_at("map", round)
        if points is not None and points.ndim == 2 and points.shape[1] == 2:
            pages.append(_map(round, "recorded", points))
    if pages:
        return pages
    for round in sorted(spread_rounds(run.kept("similarity"), turning, 3)):
        square = run.array_at("similarity", round)
        if square is not None and len(square) <= MOST_SCALED:
            pages.append(_map(round, "similarity", drawn_map(square)))
    return pages


def _map(round: int, made: str, points: np.ndarray) -> dict[str, Any]:
    return {"round": round, "made": made, "x": numbers(points[:, 0], 4), "y": numbers(points[:, 1], 4)}


def finite_range(values: np.ndarray) -> list[float | int | None]:
    """Smallest and largest finite value."""
    seen = values[np.isfinite(values)]
    return [number(float(seen.min())), number(float(seen.max()))] if len(seen) else [None, None]
