"""Health and metrics for those who keep the dashboard running, and a token without which nothing of a run is shown."""

import re
from contextlib import contextmanager

import fake_run
import pytest
from asking import Client

from flockwise.dashboard import start
from flockwise.dashboard.guard import is_allowed_host
from flockwise.dashboard.prometheus import exposition

TOKEN = "a-token-of-some-length"
DATA = ("/api/runs", "/api/runs/flic", "/api/compare?run=flic", "/api/changes", "/metrics", "/nothing")
LINE = re.compile(r'[a-z_]+\{([a-z]+="([^"\\\n]|\\\\|\\")*",?)*\} -?[0-9.e+-]+')


@pytest.fixture
def folder(tmp_path):
    fake_run.flic(tmp_path / "flic", clients=8, rounds=6)
    return tmp_path


@contextmanager
def served(folder, **more):
    dashboard = start(folder, token=TOKEN, **more)
    try:
        yield Client(dashboard.url)
    finally:
        dashboard.stop()


def test_health_needs_nothing_and_tells_nothing(folder):
    with served(folder, private=True) as client:
        answer = client.get("/health")
    assert answer.status_code == 200 and answer.json() == {"status": "ok"}


def test_metrics_are_prometheus_text(folder):
    with served(folder) as client:
        answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = answer.content.decode().splitlines()
    for line in lines:
        assert line.startswith(("# HELP ", "# TYPE ")) or LINE.fullmatch(line), line
    assert 'flockwise_run_round{run="flic"} 6' in lines and 'flockwise_runs{state="finished"} 1' in lines
    assert 'flockwise_run_state{run="flic",state="finished"} 1' in lines
    assert any(line.startswith('flockwise_run_accuracy{run="flic"} 0.') for line in lines)
    score = 'flockwise_run_score{run="flic",metric="accuracy",better="higher"} 0.'
    assert any(line.startswith(score) for line in lines)
    assert any(line.startswith("flockwise_run_changed_timestamp_seconds") for line in lines)


@pytest.mark.parametrize("name", ['a"b', "a\\b", "a\nb", 'x"} 1\nevil{a="', "\x1b[31m", "\ud800"])
def test_a_name_cannot_leave_its_label(name):
    text = exposition([{"id": name, "state": "running", "rounds": 3, "accuracy": None}])
    told = [line for line in text.splitlines() if not line.startswith("#")]
    assert len(told) == 4 and all(LINE.fullmatch(line) for line in told), told


def test_a_run_that_cannot_be_read_is_counted_and_breaks_nothing(folder):
    (folder / "broken").mkdir()
    (folder / "broken" / "config.toml").write_text("= nonsense")
    with served(folder) as client:
        lines = client.get("/metrics").content.decode().splitlines()
    assert 'flockwise_runs{state="unreadable"} 1' in lines and 'flockwise_run_round{run="flic"} 6' in lines


@pytest.mark.parametrize("path", DATA)
def test_without_the_token_nothing_of_a_run_is_shown(folder, path):
    with served(folder, private=True) as client:
        for headers in (
            {},
            {"x-flockwise-token": "wrong"},
            {"authorization": "Basic abc"},
            {"authorization": "Bearer x"},
        ):
            answer = client.get(path, headers=headers)
            assert answer.status_code == 401 and answer.headers["www-authenticate"] == "Bearer"
            assert b"flic" not in answer.content
        assert client.get("/api/runs/../../health", headers={}).status_code in (401, 404)


@pytest.mark.parametrize("headers", [{"x-flockwise-token": TOKEN}, {"authorization": f"Bearer {TOKEN}"}])
def test_with_the_token_everything_is(folder, headers):
    with served(folder, private=True) as client:
        for path in ("/api/runs", "/api/runs/flic", "/metrics"):
            assert client.get(path, headers=headers).status_code == 200


@pytest.mark.parametrize("path", ["/", "/run/flic", "/compare", "/static/live.js", "/static/page.css"])
def test_pages_without_data_come_without_the_token(folder, path):
    with served(folder, private=True) as client:
        assert client.get(path).status_code == 200


def test_looking_is_private_wherever_others_can_reach_it(folder):
    with served(folder, host="0.0.0.0") as client:
        local = Client(client.url.replace("0.0.0.0", "127.0.0.1"))
        assert local.get("/api/runs").status_code == 401 and local.get("/health").status_code == 200
    with served(folder, host="0.0.0.0", private=False) as client:
        assert Client(client.url.replace("0.0.0.0", "127.0.0.1")).get("/api/runs").status_code == 200
    with served(folder) as client:
        assert client.get("/api/runs").status_code == 200


def test_a_name_that_was_said_is_served_and_no_other(folder):
    with served(folder, names=("FL.example.org",)) as client:
        assert client.get("/api/runs", headers={"host": "fl.example.org"}).status_code == 200
        assert client.get("/api/runs", headers={"host": "evil.example.org"}).status_code == 403
    assert not is_allowed_host("", "127.0.0.1", {""})


def test_decisions_still_need_the_token(folder):
    with served(folder, private=True) as client:
        body = {"action": "release", "client": 1}
        assert client.post("/api/runs/flic/requests", json=body).status_code == 401
        bearer = {"authorization": f"Bearer {TOKEN}"}
        assert client.post("/api/runs/flic/requests", json=body, headers=bearer).status_code == 202
