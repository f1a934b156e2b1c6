"""Start the dashboard: in the foreground until Ctrl-C, or beside a run in a thread."""

import secrets
import socket
import threading
import time
import webbrowser
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import uvicorn

from flockwise.dashboard.app import create_app
from flockwise.dashboard.guard import is_loopback
from flockwise.errors import InputError


@dataclass
class Dashboard:
    """A dashboard that is running in a thread."""

    url: str
    token: str
    _server: uvicorn.Server
    _thread: threading.Thread

    @property
    def link(self) -> str:
        """The address with the token, which stays in the browser: what follows # is never sent."""
        return f"{self.url}/#token={self.token}"

    def stop(self) -> None:
        """Stop answering."""
        self._server.should_exit = True
        self._thread.join(timeout=10)


def serve(
    folder: Path, host: str = "127.0.0.1", port: int = 0, token: str | None = None, open_browser: bool = False,
    announce: Callable[[str], None] = click.echo, names: Sequence[str] = (), private: bool | None = None,
) -> None:  # fmt: skip
    """Show the runs in a folder until interrupted; port 0 takes any free one.

    `private`: looking needs the token, too; so it does by default wherever others than this machine can reach it.
    """
    given, token = token is not None, _good_token(token)
    private = not is_loopback(host) if private is None else private
    listener = _bound(host, port)
    link = f"{_url(listener, host)}/#token={token}"
    announce(f"Dashboard: {_url(listener, host) if given else link}")  # a token of yours need not be in a log
    announce(
        "Only who has the token can release or confirm clients. Ctrl-C stops the dashboard, not the runs."
    )
    if private:
        announce("Looking at runs needs the token, too.")
    elif not is_loopback(host):
        announce(f"Anyone who can reach {host} can look at the runs; only decisions need the token.")
    if open_browser:
        threading.Thread(target=webbrowser.open, args=(link,), daemon=True).start()
    _server(folder, token, host, names, private).run(sockets=[listener])


def start(
    folder: Path, host: str = "127.0.0.1", port: int = 0, token: str | None = None, names: Sequence[str] = (),
    private: bool | None = None,
) -> Dashboard:  # fmt: skip
    """Show the runs in a folder from a thread of this process, until `stop()` is called."""
    token = _good_token(token)
    private = not is_loopback(host) if private is None else private
    listener = _bound(host, port)
    server = _server(folder, token, host, names, private)
    thread = threading.Thread(
        target=server.run, kwargs={"sockets": [listener]}, daemon=True, name="dashboard"
    )
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.01)
    return Dashboard(_url(listener, host), token, server, thread)


def _good_token(token: str | None) -> str:
    if token is not None and (len(token) < 16 or not token.isascii() or not token.isprintable()):
        raise InputError(
            "token: must be at least 16 printable ASCII characters; leave it out to have one made"
        )
    return token or secrets.token_urlsafe(24)


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except (OSError, OverflowError) as error:
        listener.close()
        raise InputError(
            f"host, port = {host}, {port}: cannot listen there: {error}; port 0 takes a free one"
        ) from error
    return listener


def _url(listener: socket.socket, host: str) -> str:
    port = listener.getsockname()[1]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _server(folder: Path, token: str, host: str, names: Sequence[str], private: bool) -> uvicorn.Server:
    app = create_app(folder, token, host, names, private)
    settings = uvicorn.Config(
        app, log_level="warning", access_log=False, ws="none", lifespan="off",
        timeout_graceful_shutdown=3, server_header=False, proxy_headers=False,
    )  # fmt: skip
    server = uvicorn.Server(settings)
    app.state.stopping = lambda: server.should_exit
    return server
