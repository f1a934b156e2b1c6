"""Whether a run that goes on is given the data that it began with."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from flockwise.data import Federation
from flockwise.data.fingerprint import MARKS, fingerprint_of_all, fingerprints
from flockwise.errors import RunError
from flockwise.messages import Event
from flockwise.store import Run
from flockwise.types import Clients

_MOST = 10_000  # clients whose digests are kept one by one; of more, one for all


def data_marks(federation: Federation) -> dict[str, list[str]]:
    """For the record of a new run: a digest of each client's data."""
    if federation.clients > _MOST and federation.is_shared:
        return {MARKS: [fingerprint_of_all(federation)]}
    found = fingerprints(federation)
    if len(found) > _MOST:
        found = [hashlib.blake2b("".join(found).encode(), digest_size=8).hexdigest()]
    return {MARKS: found}


def refuse_other_data(path: Path, found: Run, federation: Federation) -> None:
    """Refuse data that are not those on record, and name the first client that has others."""
    before = found.environment.get(MARKS)
    if isinstance(before, list):
        now: Sequence[Any] = data_marks(federation)[MARKS]
    elif found.config.get("engine", {}).get("name") != "local":
        return  # an older run on nodes, which hold the data
    else:  # an older run: only how much each client holds is on record
        before = [_sizes(row) for row in found.clients]
        parts = (federation.sizes("train"), federation.sizes("validation"), federation.sizes("test"))
        now = [tuple(map(int, sizes)) for sizes in zip(*parts, strict=True)]
    if not before or list(before) == list(now):
        return
    wrong = [client for client, pair in enumerate(zip(before, now, strict=False)) if pair[0] != pair[1]]
    raise RunError(
        f"{path}: {_told(found, federation, wrong, len(now))} than when this run began; give it the same data again, or "
        f"go on with new data in a run of its own: flockwise continue {path}"
    )


def nothing_new(parent: Run, about: Mapping[str, Any], before: Clients) -> list[Event]:
    """A note where a continuation has the very data of the run before; `before` is the number each client had there."""
    then, now = parent.environment.get(MARKS), about[MARKS]
    if not isinstance(then, list) or not then or (before < 0).any():
        return []
    if len(now) == len(before) and len(then) > int(before.max()):
        then = [then[client] for client in before.tolist()]
    elif before.tolist() != list(range(len(before))):
        return []
    told = f"every client has the very data that {parent.path.name} was trained on; new data come with --data FOLDER"
    return [Event("note", told)] if list(then) == list(now) else []


def _told(found: Run, federation: Federation, wrong: list[int], compared: int) -> str:
    if compared != federation.clients or not wrong or len(wrong) == federation.clients:
        return (
            "all clients have other data" if len(wrong) == federation.clients else "clients have other data"
        )
    first = wrong[0]
    rows = {row["client"]: row for row in found.clients}
    then = sum(_sizes(rows[first])) if first in rows else 0
    here = sum(len(federation.indices(first, part)) for part in ("train", "validation", "test"))
    counts = f" ({then} samples then, {here} now)" if then and then != here else ""
    more = f", and {len(wrong) - 1} more, have" if len(wrong) > 1 else " has"
    return f"client {first}{more} other data{counts}"


def _sizes(row: dict[str, Any]) -> tuple[int, int, int]:
    return int(row["train"]), int(row["validation"]), int(row["test"])
