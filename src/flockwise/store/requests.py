"""What a person asks of a running run: a small file in its directory, which the run takes up at its next round."""

import contextlib
import json
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flockwise.errors import InputError
from flockwise.messages import Event
from flockwise.server import Server
from flockwise.store.files import make_private, read_limited, write_private
from flockwise.store.reader import open_run
from flockwise.types import Clients

ACTIONS = ("release", "confirm", "quarantine")
MOST_PENDING = 1000
MOST_BYTES = 4096  # of a request


def file_request(path: Path, wish: Any) -> Path:
    """Write a request, `{"action": ..., "client": ...}`, for the run to apply."""
    if not isinstance(wish, dict) or set(wish) != {"action", "client"}:
        raise InputError("request: must be an object with action and client, and nothing else")
    action, client = wish["action"], wish["client"]
    if action not in ACTIONS:
        raise InputError(f"action = {str(action)[:40]!r}: must be one of {', '.join(ACTIONS)}")
    clients = len(open_run(path).clients)
    if not isinstance(client, int) or isinstance(client, bool) or not 0 <= client < clients:
        raise InputError(f"client = {repr(client)[:40]}: must lie between 0 and {clients - 1}")
    folder = path / "requests"
    make_private(folder)
    if len(list(folder.glob("*.json"))) >= MOST_PENDING:
        raise InputError(f"requests: {MOST_PENDING} are waiting already; is the run still going?")
    target = folder / f"{time.time_ns():020d}-{secrets.token_hex(4)}.json"  # in the order asked
    write_private(target, json.dumps({"action": action, "client": client}).encode())
    return target


def pending(path: Path) -> list[dict[str, Any]]:
    """The requests that the run has not taken up yet."""
    found = []
    for file in sorted((path / "requests").glob("*.json"))[:MOST_PENDING]:
        try:
            wish = json.loads(read_limited(file, MOST_BYTES))
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(wish, dict) and wish.get("action") in ACTIONS and isinstance(wish.get("client"), int):
            found.append({"action": wish["action"], "client": wish["client"]})
    return found


def hand_on(source: Path, target: Path, before: Clients) -> None:
    """Give what still waits with one run to another that goes on from it; `before` has each client's number there."""
    places = {int(old): new for new, old in enumerate(before) if old >= 0}
    for wish in pending(source):
        if wish["client"] in places:
            file_request(target, {**wish, "client": places[wish["client"]]})


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
            request = json.loads(read_limited(file, MOST_BYTES))
            action, client = str(request["action"]), request["client"]
            if action in _PAST and isinstance(client, int) and not isinstance(client, bool):
                getattr(server, action)(client)
                events.append(Event(_PAST[action], f"{action} by a person", client, {"request": file.name}))

    def settle() -> None:
        for file in done:
            file.unlink(missing_ok=True)

    return events, settle
