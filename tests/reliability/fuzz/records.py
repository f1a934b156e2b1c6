"""The counts of fuzzing on record."""

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[3] / "benchmarks" / "reliability" / "results"


def pieces() -> list[dict[str, Any]]:
    """All pieces on record, in the order they were made."""
    found = [json.loads(path.read_text()) for path in RESULTS.glob("fuzz-*.json")]
    return sorted(found, key=lambda piece: str(piece["date"]))


def tried_so_far() -> dict[str, int]:
    """The inputs of each decoder since something was last found in it: what was mended is tried anew."""
    counts: dict[str, int] = {}
    for piece in pieces():
        counts[piece["decoder"]] = (
            0 if piece["findings"] else counts.get(piece["decoder"], 0) + piece["inputs"]
        )
    return counts
