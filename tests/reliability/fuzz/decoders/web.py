"""Requests to the dashboard, straight to its app: no server in between takes anything away."""

import asyncio
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

from flockwise.dashboard.app import create_app
from flockwise.dashboard.guard import is_allowed_host
from tests.reliability.fuzz.target import decoder
from tests.reliability.made import make

TOKEN = "a-token-of-some-length"
ANSWERS = {200, 202, 307, 400, 401, 403, 404, 405, 413, 415}


@cache
def _app(folder: Path) -> Any:
    make(folder / "one", rounds=2)
    app = create_app(folder, TOKEN)
    app.state.stopping = lambda: True  # a stream of changes ends at once
    return app


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """One for all inputs: to make one takes longer than most answers."""
    return asyncio.new_event_loop()


def requests() -> list[bytes]:
    body = b'{"action": "release", "client": 1}'
    post = (
        b"POST /api/runs/one/requests\nhost: localhost\ncontent-type: application/json\nx-flockwise-token: "
    )
    paths = (b"/", b"/run/one", b"/api/runs", b"/api/runs/one", b"/api/compare?run=one&run=two", b"/api/changes?run=one",
             b"/static/page.js", b"/health", b"/metrics")  # fmt: skip
    return [
        post + TOKEN.encode() + b"\n\n" + body,
        *(b"GET " + path + b"\nhost: 127.0.0.1:8000\n\n" for path in paths),
    ]


@decoder("request to the dashboard", requests, quick=200)
def _(data: bytes, folder: Path) -> object:
    """Lines as in HTTP: method and address, headers, an empty line, a body."""
    head, _, body = data.partition(b"\n\n")
    first, *lines = head.split(b"\n")
    method, _, address = first.partition(b" ")
    path, _, query = address.partition(b"?")
    headers = [tuple(line.lower().partition(b": ")[::2]) for line in lines]
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http", "root_path": "",
        "method": method.decode("latin1"), "path": unquote_to_bytes(path).decode("utf-8", "replace"), "raw_path": path,
        "query_string": query, "headers": headers, "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8000),
    }  # fmt: skip
    said: list[dict[str, Any]] = []

    sent = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> dict[str, Any]:
        return next(sent, {"type": "http.disconnect"})

    async def send(message: dict[str, Any]) -> None:
        said.append(message)

    app = _app(folder)
    _loop().run_until_complete(app(scope, receive, send))
    assert said and said[0]["status"] in ANSWERS, said[:1]
    if said[0]["status"] == 202:
        for request in (folder / "one").glob("requests/*.json"):
            request.unlink()
    return said[0]["status"]


@decoder("Host header", lambda: [b"localhost:8000", b"127.0.0.1", b"[::1]:80", b"[::1].evil.com"])
def _(data: bytes, folder: Path) -> object:
    text = data.decode("latin1")
    return is_allowed_host(text, "127.0.0.1"), is_allowed_host(text, "0.0.0.0", ("own.example",))
