"""What a person asked for while the run goes on: release or confirm a client that was set apart."""

import contextlib
import json
from collections.abc import Callable
from pathlib import Path

from flockwise.errors import InputError
from flockwise.messages import Event
from flockwise.server import Server
from flockwise.store import open_run

_PAST = {"release": "released", "confirm": "confirmed", "quarantine": "quarantine"}


def apply_requests(path: Path, server: Server) -> tuple[list[Event], Callable[[], None]]:
    """Carry out waiting requests; the second result removes them once the round is saved."""
    events, done = [], []
    waiting = sorted((path / "requests").glob("*.json")) if (path / "requests").is_dir() else []
    # One that is on record was carried out by a process that died before it could remove the file.
    handled = {event.detail.get("request") for event in open_run(path).events} if waiting else set()
    for file in waiting:
        done.append(file)
        if file.name in handled:
            continue
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, InputError, RecursionError):
            request = json.loads(file.read_text(encoding="utf-8"))
            action, client = str(request["action"]), request["client"]
            if action in _PAST and isinstance(client, int) and not isinstance(client, bool):
                getattr(server, action)(client)
                events.append(Event(_PAST[action], f"{action} by a person", client, {"request": file.name}))

    def settle() -> None:
        for file in done:
            file.unlink(missing_ok=True)

    return events, settle
