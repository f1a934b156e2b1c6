"""Every address with every method, for every host and from every site: what is answered, and that nothing is written."""

import asyncio
import json
import os
import shutil
from itertools import product
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="needs flockwise[dashboard]")

from tests.conftest import Cases
from tests.reliability.made import make

from flockwise.dashboard.app import create_app
from flockwise.rng import generator

TOKEN = "a-token-of-some-length"
PATHS = (
    "/", "/run/one", "/compare", "/static/page.js", "/health", "/metrics", "/api/runs", "/api/runs/one",
    "/api/compare", "/api/changes", "/api/runs/one/requests", "/nothing",
)  # fmt: skip
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT")
HOSTS = {"127.0.0.1:8000": True, "localhost": True, "evil.example": False, "[::1].evil.example": False}
ORIGINS = (None, "http://evil.example")
BODY = b'{"action": "release", "client": 1}'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make(tmp_path / "runs" / "one", rounds=2)
    (tmp_path / "secret").write_text("a secret")
    return tmp_path / "runs"


def ask(
    app: Any, method: str, path: str, headers: dict[str, str], query: bytes = b"", sent: bytes = BODY
) -> tuple[int, bytes]:
    """Status and body of an answer, without a server in between."""
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http", "root_path": "",
        "method": method, "path": path, "raw_path": path.encode("utf-8", "surrogatepass"), "query_string": query,
        "headers": [(name.encode(), value.encode("latin1")) for name, value in headers.items()],
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8000),
    }  # fmt: skip
    said: list[dict[str, Any]] = []
    body = iter([{"type": "http.request", "body": sent, "more_body": False}])

    async def receive() -> dict[str, Any]:
        return next(body, {"type": "http.disconnect"})

    async def send(message: dict[str, Any]) -> None:
        said.append(message)

    asyncio.run(app(scope, receive, send))
    return said[0]["status"], b"".join(each.get("body", b"") for each in said)


def files(folder: Path) -> dict[Path, int]:
    """All but what SQLite keeps beside a database while somebody reads it."""
    return {
        path: path.stat().st_mtime_ns
        for path in folder.rglob("*")
        if path.is_file() and "sqlite-" not in path.name
    }


def test_every_route_is_among_the_paths(folder: Path) -> None:
    routes = [route.path_regex for route in create_app(folder, TOKEN).routes]
    assert len(routes) == len(PATHS) - 1  # one leads nowhere
    assert all(any(route.match(path) for path in PATHS) for route in routes)


def test_nothing_is_written_and_no_other_host_is_answered(folder: Path, cases: Cases) -> None:
    app, before = create_app(folder, TOKEN), files(folder)
    grid = list(product(PATHS, METHODS, HOSTS, ORIGINS))
    cases.count(len(grid))
    for path, method, host, origin in grid:
        headers = {"host": host, "content-type": "application/json", **({"origin": origin} if origin else {})}
        status, _ = ask(app, method, path, headers)
        wish, exists = path.endswith("requests"), path != "/nothing"
        if not HOSTS[host] or origin:
            expected = 403
        elif not exists:
            expected = 404
        elif wish:
            expected = 403 if method == "POST" else 405  # without the token
        else:
            expected = 200 if method in ("GET", "HEAD") else 405
        assert status == expected, (path, method, host, origin)
    assert files(folder) == before


@pytest.mark.parametrize("path", ["/api/runs/\ud800/", "/\udfff/", "/static/\ud800"])
def test_an_address_that_is_no_text_is_not_there(folder: Path, path: str) -> None:
    status, body = ask(create_app(folder, TOKEN), "GET", path, {"host": "localhost"})
    assert status == 404 and b"no such address" in body


@pytest.mark.parametrize("path", ["/api/runs/one/", "/run/one/", "/api/compare", "/api/changes"])
@pytest.mark.parametrize("query", [b"\xff", b"run=one&x=\xed\xa0\x80", b"run=\xc3("])
def test_a_query_that_is_no_text_is_not_there(folder: Path, path: str, query: bytes) -> None:
    app = create_app(folder, TOKEN)
    status, body = ask(app, "GET", path, {"host": "localhost"}, query)
    assert status == 404 and b"no such address" in body
    assert ask(app, "GET", path, {"host": "localhost"}, b"%ff=%ed%a0%80")[0] in (200, 307), (
        "spelt out, it is text"
    )


@pytest.mark.parametrize("client", [b'"\\ud800"', b'"a\\nb"', b"1e400", b"null", b'["\\udfff"]'])
def test_an_odd_client_is_refused_in_one_line(folder: Path, client: bytes) -> None:
    headers = {"host": "localhost", "content-type": "application/json", "x-flockwise-token": TOKEN}
    wish = b'{"action": "release", "client": ' + client + b"}"
    status, body = ask(create_app(folder, TOKEN), "POST", "/api/runs/one/requests", headers, sent=wish)
    told = json.loads(body)["error"]
    assert status == 400 and told.startswith("client = ") and told.isprintable()


def test_a_folder_whose_name_is_no_text_hides_no_other(folder: Path) -> None:
    try:
        shutil.copytree(folder / "one", folder / os.fsdecode(b"\xffodd"))
    except OSError:
        pytest.skip("this file system takes names in UTF-8 only")
    app = create_app(folder, TOKEN)
    status, body = ask(app, "GET", "/api/runs", {"host": "localhost"})
    names = [run["id"] for run in json.loads(body)["runs"]]
    assert status == 200 and sorted(names) == ["\\udcffodd", "one"]
    assert ask(app, "GET", "/api/runs/\\udcffodd", {"host": "localhost"})[0] == 200
    assert ask(app, "GET", "/metrics", {"host": "localhost"})[0] == 200


def test_a_parent_whose_name_is_no_text_hides_no_run(folder: Path) -> None:
    (folder / "one" / "environment.json").write_text('{"parent": "/runs/\\ud800", "forked_at": 1}')
    app = create_app(folder, TOKEN)
    for address in ("/api/runs", "/api/runs/one"):
        assert ask(app, "GET", address, {"host": "localhost"})[0] == 200
    assert ask(app, "GET", "/api/compare", {"host": "localhost"}, b"run=one")[0] == 200


def test_a_run_that_is_named_many_times_is_read_once(folder: Path) -> None:
    app = create_app(folder, TOKEN)
    status, body = ask(app, "GET", "/api/compare", {"host": "localhost"}, b"&".join([b"run=one"] * 150))
    assert status == 200 and body == ask(app, "GET", "/api/compare", {"host": "localhost"}, b"run=one")[1]


def test_no_name_leads_out_of_the_folder(folder: Path, cases: Cases) -> None:
    app, random = create_app(folder, TOKEN), generator(0, "names")
    parts = (
        "..", ".", "/", "\\", "%2e%2e", "%2f", "%252e%252e%252f", "\0", "%00", "one", "secret", "~", "C:", "CON", "//",
        "\uff0e\uff0e", "\u2024\u2024", "\u2215", "\u2216", "a" * 300, "run.sqlite", "config.toml", "checkpoints", ";",
        "?", "#", "\ud800", "\n", " ",
    )  # fmt: skip
    for _ in range(cases.many(50)):
        name = "".join(parts[i] for i in random.integers(len(parts), size=int(random.integers(1, 7))))
        for place in ("/api/runs/", "/static/", "/"):
            status, body = ask(app, "GET", place + name, {"host": "localhost"})
            assert status in (200, 307, 404, 405) and b"a secret" not in body
            assert status != 200 or place + name in PATHS or place != "/static/", name
