"""The counts of fuzzing on record."""

import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).parents[3] / "benchmarks" / "reliability"
RESULTS = HERE / "results"


def is_lost(result: dict[str, Any]) -> bool:
    """Whether a result was made by a commit that is not in the history."""
    lost = [line for line in (HERE / "lost.txt").read_text().splitlines() if not line.startswith("#")]
    return str(result["commit"]).startswith(tuple(lost))


def pieces() -> list[dict[str, Any]]:
    """All pieces on record, in the order they were made."""
    found = [json.loads(path.read_text()) for path in RESULTS.glob("fuzz-*.json")]
    return sorted(found, key=lambda piece: str(piece["date"]))


def tried_so_far() -> dict[str, int]:
    """The inputs of each decoder since something was last found in it: what was mended is tried anew."""
    counts: dict[str, int] = {}
    for piece in pieces():
        new = 0 if is_lost(piece) else piece["inputs"]
        counts[piece["decoder"]] = 0 if piece["findings"] else counts.get(piece["decoder"], 0) + new
    return counts
