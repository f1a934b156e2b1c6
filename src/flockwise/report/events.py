"""The events of a run, all counted, the telling ones listed."""

from collections import Counter
from typing import Any

from flockwise.report.encoding import number
from flockwise.store import Run

MOST_LISTED = 3000
MOST_CLIENTS_NAMED = 40_000  # over all events that name several clients
FREQUENT = ("dropout", "rejected", "placed", "moved", "skipped")  # left out first, where there are too many


def listed_events(run: Run) -> dict[str, Any]:
    """Events for the page: number of each kind, and a list that is cut where it would be too long."""
    events = run.events
    counts = Counter(event.kind for event in events)
    chosen = sorted(range(len(events)), key=lambda i: (events[i].kind in FREQUENT, i))[:MOST_LISTED]
    items, named = [], 0
    for event in (events[i] for i in sorted(chosen)):
        detail = {str(key): _short(value) for key, value in event.detail.items() if not _is_long(value)}
        several = event.detail.get("clients")
        if isinstance(several, list) and named + len(several) <= MOST_CLIENTS_NAMED:
            detail["clients"] = [int(c) for c in several if isinstance(c, int)]
            named += len(several)
        items.append({"round": event.round, "kind": event.kind, "client": event.client,
                      "message": event.message[:500], "detail": detail})  # fmt: skip
    lanes: dict[str, dict[int, int]] = {kind: {} for kind in counts}
    for event in events:
        lanes[event.kind][event.round] = lanes[event.kind].get(event.round, 0) + 1
    return {"items": items, "counts": dict(counts.most_common()), "total": len(events),
            "lanes": {kind: list(rounds.items()) for kind, rounds in lanes.items()}}  # fmt: skip


def turning_rounds(run: Run) -> set[int]:
    """Rounds in which flocks changed as a whole."""
    return {
        event.round for event in run.events if event.kind in ("flocks", "split", "quarantine", "rollback")
    }


def _is_long(value: object) -> bool:
    return (isinstance(value, list | dict) and len(value) > 60) or (
        isinstance(value, str) and len(value) > 500
    )


def _short(value: Any) -> Any:
    if isinstance(value, bool | str) or value is None:
        return value
    if isinstance(value, int | float):
        return number(value)
    if isinstance(value, list):
        return [_short(item) for item in value]
    return {str(key): _short(item) for key, item in value.items()} if isinstance(value, dict) else str(value)
