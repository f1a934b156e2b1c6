"""Everything the page shows of one run, as plain data."""

from collections.abc import Callable
from typing import Any

import numpy as np

from flockwise.data.fingerprint import MARKS
from flockwise.errors import FlockwiseError
from flockwise.report.crowd import crowd_places, is_crowd, lookup, shown_clients, some_columns
from flockwise.report.dendrograms import dendrograms
from flockwise.report.encoding import bits, numbers, quantised
from flockwise.report.events import listed_events, turning_rounds
from flockwise.report.evidence import maps, similarity_pages
from flockwise.report.groups import feature_groups
from flockwise.report.headline import headline
from flockwise.report.places import Places, encoded_places, flock_curves, flow, read_places, some_rows
from flockwise.report.scores import described_score, score_range
from flockwise.scoring import Scoring
from flockwise.store import Run
from flockwise.store.summary import latest_values

NOWHERE = Places(np.zeros(0, np.int64), np.zeros((0, 0), np.int64))
MOST_NOTES = 12  # things known of clients that the page shows
COLUMNS = ("name", "truth", "attacker", "train", "validation", "test", "address", "hour", "user")


def describe_run(run: Run) -> dict[str, Any]:
    """The run as the page reads it; a part that cannot be read is left out and named in `problems`."""
    problems = [f"damaged: {line}" for line in run.damage]

    def part(name: str, make: Callable[[], Any], otherwise: Any = None) -> Any:
        try:
            return make()
        except (FlockwiseError, ValueError, TypeError, KeyError, IndexError) as error:
            problems.append(f"{name}: {error}"[:300])
            return otherwise

    crowd = is_crowd(run)
    everyone = part("flocks", lambda: crowd_places(run) if crowd else read_places(run), NOWHERE)
    some = part("clients", lambda: shown_clients(run)) if crowd else None
    known = everyone if some is None else part("flocks", lambda: everyone.of(some), NOWHERE)
    turning = part("events", lambda: turning_rounds(run), set())
    scoring = run.scoring
    when, scores = part(
        scoring.name,
        lambda: _per_client(run, scoring.name, known, some),
        (np.zeros(0, np.int64), np.zeros((0, 0))),
    )
    return {
        "id": run.path.name,
        "name": run.title,
        "state": run.state,
        "created": run.about.get("created", ""),
        "about": run.about,
        "config": run.config,
        "environment": {
            key: value for key, value in run.environment.items() if key != MARKS
        },  # they are long
        "headline": part("headline", lambda: headline(run, everyone), {"story": ""}),
        "rounds": run.rounds.tolist(),
        "seconds": numbers(run.seconds, 3),
        "facts": {name: numbers(values) for name, values in run.facts.items()},
        "clients": part("clients", lambda: _columns(run, some), {}),
        "places": part("flocks", lambda: encoded_places(known)),
        "score": described_score(scoring),
        "scores": part(scoring.name, lambda: _scores(scoring, when, scores)),
        "trained": part("trained", lambda: _trained(run, some)),
        "flocks": part(
            "flocks",
            lambda: {"rounds": known.rounds.tolist(), "curves": flock_curves(known, when, scores, everyone)},
        ),
        "flow": part("flow", lambda: flow(everyone)),
        "similarity": [] if crowd else part("similarity", lambda: similarity_pages(run, known, turning), []),
        "maps": [] if crowd else part("map", lambda: maps(run, known, turning), []),
        "dendrograms": part("dendrogram", lambda: dendrograms(run, known), []),
        "groups": None if crowd else part("groups", lambda: feature_groups(run, known)),
        "lookup": part("clients", lambda: lookup(run, everyone)) if crowd else None,
        "events": part(
            "events", lambda: listed_events(run), {"items": [], "counts": {}, "total": 0, "lanes": {}}
        ),
        "problems": problems,
    }


def _columns(run: Run, some: np.ndarray | None) -> dict[str, list[Any]]:
    """The table of clients; `number` is there where not all of them are shown."""
    clients = run.clients if some is None else [run.clients[client] for client in some.tolist()]
    columns = {name: [client[name] for client in clients] for name in COLUMNS}
    notes = list(dict.fromkeys(key for client in clients for key in client["about"]))[:MOST_NOTES]
    about = [{"key": key, "values": [client["about"].get(key) for client in clients]} for key in notes]
    return {**columns, "about": about, **({} if some is None else {"number": some.tolist()})}


def _per_client(run: Run, name: str, known: Places, some: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    rounds, values = run.array(name) if some is None else some_columns(run, name, some)
    if values.ndim != 2 or (len(known.rounds) and values.shape[1] != known.places.shape[1]):
        return np.zeros(0, np.int64), np.zeros((0, known.places.shape[1]))
    return rounds, values


def _scores(scoring: Scoring, rounds: np.ndarray, values: np.ndarray) -> dict[str, Any]:
    rows = some_rows(rounds, values.shape[1])
    return {
        "rounds": rounds[rows].tolist(),
        "values": quantised(values[rows], *score_range(scoring, values[rows])),
        "latest": latest_values(values, values.shape[1]),  # the table shows three digits, a step has fewer
    }


def _trained(run: Run, some: np.ndarray | None) -> dict[str, Any] | None:
    rounds, values = run.array("trained") if some is None else some_columns(run, "trained", some)
    if values.ndim != 2:
        return None
    rows = some_rows(rounds, values.shape[1] // 8 + 1)
    return {"rounds": rounds[rows].tolist(), "bits": bits(values[rows]), "times": values.sum(axis=0).tolist()}
