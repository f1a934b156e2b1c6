"""Who may talk to the dashboard: this machine's own pages, and for actions only with the token."""

import hmac
import re
from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import ip_address

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from flockwise.dashboard.answers import Answer

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}

PAGES = ("/", "/compare")  # and /run/...: the same empty page for all of them
MISSING = "the token is missing or wrong; it was given or printed when the dashboard was started"

# What follows a bracket or a colon must be a port: `[::1].evil.com` is a name of evil.com's.
_HOST = re.compile(r"(\[(?P<address>[0-9a-fA-F:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(:[0-9]{1,5})?")


def is_loopback(name: str) -> bool:
    """Whether a host name or address means this machine only."""
    if name == "localhost":
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def host_name(header: str) -> str:
    """The name in a Host header, without port and brackets; empty if it is not a name and a port, and nothing else."""
    found = _HOST.fullmatch(header)
    return (found["address"] or found["name"]).lower() if found else ""


def is_allowed_host(header: str, bound: str, names: Collection[str] = ()) -> bool:
    """Whether a request was meant for us.

    A page elsewhere can point its own name at 127.0.0.1 and have a browser ask us; its name gives it away.
    Bound to the network, any address will do, because an address cannot be pointed elsewhere. `names` are those that
    whoever started it has said it is known by.
    """
    name = host_name(header)
    if is_loopback(name) or name == bound.lower() or (name and name in names):
        return True
    if is_loopback(bound):
        return False
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def token_of(headers: Headers) -> str | None:
    """The token that a request carries: in a header of ours, or as programs send one."""
    kind, _, given = headers.get("authorization", "").partition(" ")
    return headers.get("x-flockwise-token") or (given.strip() if kind.lower() == "bearer" else None)


def is_token(given: str | None, token: str) -> bool:
    """Whether the token is right, in a time that does not tell how much of it is."""
    return given is not None and hmac.compare_digest(given.encode(), token.encode())


def _is_text(scope: Scope) -> bool:
    """Whether an address can be sent back, as when a slash is too many; no server of ours hands on one that cannot."""
    try:
        scope["path"].encode()
        scope["query_string"].decode()
    except UnicodeError:
        return False
    return True


@dataclass
class Guard:
    """Turns away requests for another host or from another site, and adds the headers of every answer."""

    app: ASGIApp
    bound: str
    names: Collection[str] = ()
    private: str | None = None  # the token without which nothing of a run is shown

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check, then pass on."""
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        host, origin = headers.get("host", ""), headers.get("origin")
        if not is_allowed_host(host, self.bound, self.names):
            refused = "this host name is not served here"
        elif origin is not None and origin.lower() != f"{scope['scheme']}://{host.lower()}":
            refused = "requests from other sites are refused"
        elif not _is_text(scope):
            await Answer({"error": "no such address"}, 404)(scope, receive, self._with_headers(send))
            return
        elif self._is_hidden(scope["path"], headers):
            await Answer({"error": MISSING}, 401, {"www-authenticate": "Bearer"})(
                scope, receive, self._with_headers(send)
            )
            return
        else:
            await self.app(scope, receive, self._with_headers(send))
            return
        await Answer({"error": refused}, 403)(scope, receive, self._with_headers(send))

    def _is_hidden(self, path: str, headers: Headers) -> bool:
        """Whether the token is missing for what tells of runs; pages and scripts without data tell nothing."""
        tells = (
            path != "/health"
            and not path.startswith("/static/")
            and path not in PAGES
            and path[:5] != "/run/"
        )
        return self.private is not None and tells and not is_token(token_of(headers), self.private)

    def _with_headers(self, send: Send) -> Send:
        async def sender(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        return sender
