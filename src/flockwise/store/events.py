"""An event as a program is told of it: in a JSON line, in a webhook's body, on a command's standard input."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from flockwise.messages import Event
from flockwise.store.writer import plain


def event_words(event: Event, names: Mapping[int, str] = MappingProxyType({})) -> dict[str, Any]:
    """Kind, message, and every client that it is about; `client` and its `name` are the one, if there is just one."""
    named = event.detail.get("clients")
    clients = [event.client] if event.client is not None else plain(named) if named is not None else []
    one = clients[0] if isinstance(clients, list) and len(clients) == 1 else event.client
    return {
        "kind": event.kind, "message": event.message, "client": one,
        "name": names.get(one) if isinstance(one, int) else None, "clients": clients,
        "detail": plain(event.detail),
    }  # fmt: skip
