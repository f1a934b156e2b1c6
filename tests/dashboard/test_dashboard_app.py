"""The dashboard's answers, asked without a browser."""

import http.client
import json
import sqlite3
from contextlib import contextmanager
from urllib.parse import urlsplit

import fake_run
import pytest
from asking import Client

import flockwise as fw
from flockwise.dashboard import serve, start
from flockwise.dashboard.guard import is_allowed_host
from flockwise.errors import InputError
from flockwise.store import reopen_run
from flockwise.store.policy import CheckpointPolicy

TOKEN = "a-token-of-some-length"


@pytest.fixture
def folder(tmp_path):
    fake_run.flic(tmp_path / "flic", clients=8, rounds=16)
    fake_run.byzantine(tmp_path / "byzantine", stop=15)
    return tmp_path


@contextmanager
def served(folder):
    dashboard = start(folder, token=TOKEN)
    try:
        yield Client(dashboard.url)
    finally:
        dashboard.stop()


@pytest.fixture
def client(folder):
    with served(folder) as client:
        yield client


def ask(client, body, run="byzantine", **headers):
    return client.post(
        f"/api/runs/{run}/requests", json=body, headers={"x-flockwise-token": TOKEN, **headers}
    )


def test_runs_are_listed_with_their_state(client):
    runs = {run["id"]: run for run in client.get("/api/runs").json()["runs"]}
    assert runs["flic"]["state"] == "finished" and runs["flic"]["rounds"] == 16
    assert runs["byzantine"]["state"] == "interrupted" and runs["byzantine"]["planned"] == 30


def test_a_run_whose_config_has_no_name_is_listed_by_its_directory(tmp_path):
    fw.run({"rounds": 1, "split": {"clients": 3}}, out=tmp_path / "clinics")
    fw.run({"name": "wards", "rounds": 1, "split": {"clients": 3}}, out=tmp_path / "other")
    with served(tmp_path) as client:
        listed = {run["id"]: run["name"] for run in client.get("/api/runs").json()["runs"]}
    assert listed == {"clinics": "clinics", "other": "wards"}


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/run/flic",
        "/compare",
        "/static/page.js",
        "/static/charts.js",
        "/static/page.css",
        "/static/live.js",
    ],
)
def test_pages_come_with_a_strict_policy(client, path):
    answer = client.get(path)
    assert answer.status_code == 200
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in answer.headers


def test_a_run_is_described_as_in_its_report(client):
    shown = client.get("/api/runs/flic").json()["run"]
    assert len(shown["rounds"]) == 16 and shown["pending"] == []


def test_runs_are_compared(client):
    shown = client.get("/api/compare", params={"run": ["flic", "byzantine", "nothing"]}).json()["comparison"]
    assert [run["id"] for run in shown["runs"]] == ["flic", "byzantine"]
    assert "error" in client.get("/api/compare").json()


def test_broken_newer_and_half_made_runs_break_nothing(client, folder):
    (folder / "empty").mkdir()
    (folder / "empty" / "config.toml").write_text("")
    (folder / "junk").mkdir()
    (folder / "junk" / "config.toml").write_text("= = =")
    (folder / "junk" / "run.sqlite").write_bytes(b"not a database at all" * 100)
    newer = fake_run.flic(folder / "newer", clients=8, rounds=3)
    with sqlite3.connect(newer / "run.sqlite") as database:
        database.execute("UPDATE about SET value = '99' WHERE key = 'format'")
    database.close()
    bad = fake_run.flic(folder / "bad", clients=8, rounds=3)
    (bad / "config.toml").write_text("name = [")
    runs = {run["id"]: run for run in client.get("/api/runs").json()["runs"]}
    for name in ("empty", "junk", "newer", "bad"):
        assert runs[name]["state"] == "unreadable" and runs[name]["error"]
        assert client.get(f"/api/runs/{name}").json()["error"]
    assert "newer Flockwise" in runs["newer"]["error"]
    assert runs["flic"]["state"] == "finished"


def test_one_run_can_be_served_by_itself(folder):
    with served(folder / "flic") as client:
        assert [run["id"] for run in client.get("/api/runs").json()["runs"]] == ["flic"]


def test_a_folder_that_is_not_there_has_no_runs(tmp_path):
    with served(tmp_path / "nothing") as client:
        assert client.get("/api/runs").json() == {"runs": []}


@pytest.mark.parametrize("name", ["..", "%2e%2e", "nothing", "flic%2f..%2f..", "%00"])
def test_only_runs_can_be_asked_for(client, name):
    assert client.get(f"/api/runs/{name}").status_code == 404
    assert client.get(f"/static/{name}").status_code == 404


def test_a_decision_becomes_a_file_that_the_run_takes_up(client, folder):
    assert ask(client, {"action": "release", "client": 31}).status_code == 202
    (file,) = (folder / "byzantine" / "requests").iterdir()
    assert file.suffix == ".json"
    assert json.loads(file.read_text()) == {"action": "release", "client": 31}
    assert client.get("/api/runs/byzantine").json()["run"]["pending"] == [{"action": "release", "client": 31}]
    file.unlink()
    assert client.get("/api/runs/byzantine").json()["run"]["pending"] == []


@pytest.mark.parametrize("token", [None, "", "wrong", TOKEN + "x", "é"])
def test_without_the_token_nothing_is_done(client, folder, token):
    headers = {} if token is None else {"x-flockwise-token": token.encode()}
    answer = client.post(
        "/api/runs/byzantine/requests", json={"action": "release", "client": 31}, headers=headers
    )
    assert answer.status_code == 403
    assert not (folder / "byzantine" / "requests").exists()


@pytest.mark.parametrize(
    "body",
    [[], {}, None, "x", {"action": "release"}, {"action": "delete", "client": 1}, {"action": "release", "client": 40},
     {"action": "release", "client": -1}, {"action": "release", "client": "1"}, {"action": "release", "client": True},
     {"action": "release", "client": 1, "path": "/etc"}, {"action": ["release"], "client": 1}],
)  # fmt: skip
def test_odd_requests_are_refused(client, folder, body):
    assert ask(client, body).status_code == 400
    assert not list(folder.glob("byzantine/requests/*"))


def test_long_or_other_bodies_are_refused(client):
    post = lambda content, kind: client.post("/api/runs/byzantine/requests", content=content,  # noqa: E731
        headers={"x-flockwise-token": TOKEN, "content-type": kind})  # fmt: skip
    assert post(b"x" * 10_000, "application/json").status_code == 413
    assert post(b"{", "application/json").status_code == 400
    assert post(b"[" * 4000, "application/json").status_code == 400
    assert post(b"\xff", "application/json").status_code == 400
    assert post(b"action=release&client=1", "application/x-www-form-urlencoded").status_code == 415
    assert ask(client, {"action": "release", "client": 1}, run="nothing").status_code == 404


@pytest.mark.parametrize("origin", ["http://evil.example", "http://127.0.0.1:9", "https://127.0.0.1", "null"])
def test_other_sites_are_refused_even_with_the_token(client, folder, origin):
    assert ask(client, {"action": "release", "client": 31}, origin=origin).status_code == 403
    assert client.get("/api/runs", headers={"origin": origin}).status_code == 403
    assert not (folder / "byzantine" / "requests").exists()


def test_our_own_page_is_let_in(client):
    assert ask(client, {"action": "confirm", "client": 31}, origin=client.url).status_code == 202


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:8000", "", "192.168.0.7:8000"])
def test_names_that_point_here_are_refused(client, host):
    assert client.get("/api/runs", headers={"host": host}).status_code == 403


@pytest.mark.parametrize(
    ("header", "bound", "allowed"),
    [("localhost:1", "127.0.0.1", True), ("[::1]:80", "::1", True), ("10.0.0.5:80", "0.0.0.0", True),
     ("box:80", "box", True), ("evil.example", "0.0.0.0", False), ("10.0.0.5", "127.0.0.1", False)],
)  # fmt: skip
def test_which_hosts_are_served(header, bound, allowed):
    assert is_allowed_host(header, bound) is allowed


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_everything_else_can_only_be_read(client, method):
    for path in ("/", "/api/runs", "/api/runs/flic", "/api/compare", "/static/page.js", "/api/changes"):
        assert client.request(method, path, headers={"x-flockwise-token": TOKEN}).status_code == 405


def test_changes_are_sent_as_they_happen(folder):
    dashboard = start(folder)
    try:
        address = urlsplit(dashboard.url)
        connection = http.client.HTTPConnection(address.hostname, address.port, timeout=20)
        connection.request("GET", "/api/changes?run=byzantine")
        answer = connection.getresponse()
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.readline() == b"event: changed\n"
        assert [answer.readline() for _ in range(2)] == [b"data: {}\n", b"\n"]
        (folder / "byzantine" / "config.toml").write_text(
            (folder / "byzantine" / "config.toml").read_text() + "\n"
        )
        assert answer.readline() == b"event: changed\n"
        connection.close()
    finally:
        dashboard.stop()
    assert not dashboard._thread.is_alive()


def test_bad_addresses_and_tokens_are_refused(folder):
    with pytest.raises(InputError):
        start(folder, token="short")
    with pytest.raises(InputError):
        start(folder, port=99_999)


def test_a_run_whose_process_is_gone_is_noticed(folder):
    path = folder / "byzantine"
    with served(folder) as client:
        with reopen_run(path, CheckpointPolicy(every=10**9)):
            state = {run["id"]: run["state"] for run in client.get("/api/runs").json()["runs"]}
            assert state["byzantine"] == "running"
            assert client.get("/api/runs/byzantine").json()["run"]["state"] == "running"
        state = {run["id"]: run["state"] for run in client.get("/api/runs").json()["runs"]}
        assert state["byzantine"] == "interrupted"
        assert client.get("/api/runs/byzantine").json()["run"]["state"] == "interrupted"


def test_serving_prints_the_address_and_stops(folder, monkeypatch):
    told = []
    monkeypatch.setattr("uvicorn.Server.run", lambda self, sockets: [socket.close() for socket in sockets])
    serve(folder, token=TOKEN, announce=told.append)
    assert told[0].startswith("Dashboard: http://127.0.0.1:") and TOKEN not in "".join(told)  # it is known
    serve(folder, announce=told.append)
    assert "/#token=" in told[2]
    serve(folder, host="0.0.0.0", announce=told.append)
    assert told[-1] == "Looking at runs needs the token, too."
    serve(folder, host="0.0.0.0", private=False, announce=told.append)
    assert "Anyone who can reach 0.0.0.0" in told[-1]
