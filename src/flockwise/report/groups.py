"""Groups by place, hour or user (Mini-FL), with their boundaries in words."""

from collections.abc import Sequence
from ipaddress import ip_address
from typing import Any

import numpy as np

from flockwise.report.encoding import number
from flockwise.report.places import Places
from flockwise.store import Run

FEATURES = ("geo", "time", "user")
COLUMNS = ("address", "hour", "user")
WORDS = ("address", "hour of the day", "user id")


def feature_groups(run: Run, known: Places) -> dict[str, Any] | None:
    """How well each feature groups the clients, the one that won, and what its groups are."""
    facts = run.facts
    candidates = []
    for name, words in zip(FEATURES, WORDS, strict=True):
        error, groups = (_newest(facts.get(f"{kind}_{name}")) for kind in ("unlike", "groups"))
        if error is not None:
            candidates.append(
                {"feature": name, "words": words, "error": number(error), "groups": number(groups)}
            )
    chosen = _newest(facts.get("feature"))
    if not candidates or chosen is None or not 0 <= int(chosen) < len(FEATURES):
        return None
    places = known.places[-1] if len(known.places) else np.zeros(0, np.int64)
    return {"candidates": candidates, "chosen": FEATURES[int(chosen)], "words": WORDS[int(chosen)],
            "groups": _boundaries(run.clients, places, COLUMNS[int(chosen)])}  # fmt: skip


def _newest(values: np.ndarray | None) -> float | None:
    seen = values[np.isfinite(values)] if values is not None else np.zeros(0)
    return float(seen[-1]) if len(seen) else None


def _boundaries(clients: Sequence[dict[str, Any]], places: np.ndarray, column: str) -> list[dict[str, Any]]:
    if len(clients) != len(places):
        return []
    groups = []
    for group in np.unique(places[places >= 0]):
        members = [clients[int(i)] for i in np.flatnonzero(places == group)]
        values = sorted(v for v in (_position(client[column]) for client in members) if v is not None)
        if values:
            low, high = (_text(column, value) for value in (values[0], values[-1]))
            groups.append({"group": int(group), "clients": len(members), "words": f"{low} to {high}"})
    return groups


def _position(value: Any) -> int | float | None:
    if isinstance(value, str):
        try:
            return int(ip_address(value))
        except ValueError:
            return None
    return None if value is None else float(value)


def _text(column: str, value: int | float) -> str:
    if column == "address":
        return str(ip_address(int(value)))
    if column == "hour":
        minutes = round(value * 60)
        return f"{minutes // 60:02d}:{minutes % 60:02d}"
    return f"{value:.10g}"
