"""What a run knows of its clients beside numbers: their names, and anything else that was told of them."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from flockwise.store.json_text import loaded

KEY = "clients"  # of the facts about a run; a run of an older release has none


def written_notes(rows: Sequence[Mapping[str, Any]]) -> str:
    """What is known of all clients, in their order, for the record; empty if nothing is."""
    notes = [dict(row.get("about") or {}) for row in rows]
    return json.dumps(notes) if any(notes) else ""


def read_notes(text: str) -> list[dict[str, Any]]:
    """The same from a record, of which nothing is believed."""
    try:
        found = loaded(text) if text else []
    except (ValueError, RecursionError):
        return []
    return [_plain(each) for each in found] if isinstance(found, list) else []


def called(client: int, name: str | None) -> str:
    """A client in a sentence: its name, if it has one, and its number."""
    plain = f"client {client}"
    return plain if not name or name == plain else f"{name} ({plain})"


def _plain(each: object) -> dict[str, Any]:
    if not isinstance(each, dict):
        return {}
    return {str(key): value for key, value in each.items() if isinstance(value, str | int | float | bool)}
