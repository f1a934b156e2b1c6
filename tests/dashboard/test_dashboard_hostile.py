"""The dashboard before requests and run directories that mean it harm."""

import shutil
import time

import fake_run
import pytest
from asking import Client
from tests.reliability.made import change

from flockwise.dashboard import start
from flockwise.dashboard.guard import is_allowed_host
from flockwise.dashboard.watching import Watch

NAMES = [
    "[::1].evil.com", "[::1].evil.com:80", "[::1]evil.com", "[::1]:80.evil.com", "[::1", "[::1]:", "[]",
    "[127.0.0.1].evil.com",
    "localhost:80.evil.com", "localhost:evil.com", "127.0.0.1:80@evil.com", "localhost.evil.com", "127.0.0.1.evil.com",
    "localhost@evil.com", "evil.com#localhost", "", " ", "localhost ", "localhost:", "::1", "[::ffff:10.0.0.5]",
    "localhost:1e3",
    "localhost/evil.com", "localhost\\evil.com", "127.0.0.1:99999999",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("bound", ["127.0.0.1", "::1", "localhost"])
def test_names_that_only_look_like_ours_are_not_served(name, bound):
    assert not is_allowed_host(name, bound)


@pytest.mark.parametrize(
    "name", ["localhost", "LOCALHOST:80", "127.0.0.1", "127.0.0.1:8080", "[::1]", "[::1]:8080", "127.1.2.3"]
)
def test_our_own_names_are_served(name):
    assert is_allowed_host(name, "127.0.0.1")


@pytest.fixture
def folder(tmp_path):
    fake_run.flic(tmp_path / "good", clients=8, rounds=6)
    fake_run.flic(tmp_path / "other", clients=8, rounds=6)
    return tmp_path


def test_a_request_for_such_a_name_is_turned_away(folder):
    dashboard = start(folder)
    try:
        client = Client(dashboard.url)
        assert client.get("/api/runs", headers={"host": "[::1].evil.com"}).status_code == 403
        assert client.get("/api/runs").status_code == 200
    finally:
        dashboard.stop()


def test_one_hostile_run_leaves_the_list_whole(folder, monkeypatch):
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
    change(
        folder / "other",
        "DROP TABLE facts",
        f"CREATE VIEW facts AS {endless} SELECT i AS round, 'accuracy' AS name, 1.0 AS value FROM n",
    )
    started = time.monotonic()
    found = {run["id"]: run for run in Watch(folder).summaries()}
    assert found["good"]["state"] == "finished" and found["good"]["score"] is not None
    assert found["other"]["state"] == "unreadable" and "not a plain table" in found["other"]["error"]
    assert time.monotonic() - started < 10


@pytest.mark.parametrize(
    "error", [MemoryError, RecursionError, UnicodeError, ZeroDivisionError, AssertionError]
)
def test_whatever_goes_wrong_with_a_run_stays_with_it(folder, monkeypatch, error):
    from flockwise.dashboard import watching

    read = watching._read_summary

    def broken(run):
        if run.path.name == "other":
            raise error("no more of this")
        return read(run)

    monkeypatch.setattr(watching, "_read_summary", broken)
    found = {run["id"]: run for run in Watch(folder).summaries()}
    assert (
        found["good"]["state"] == "finished"
        and found["other"]["state"] == "unreadable"
        and found["other"]["error"]
    )


def test_a_damaged_run_is_shown_as_such(folder):
    assert "damage" not in {key for run in Watch(folder).summaries() for key in run if run.get(key)}
    config = folder / "other" / "config.toml"
    config.write_text(config.read_text() + "\n")
    found = {run["id"]: run for run in Watch(folder).summaries()}
    assert "config.toml" in found["other"]["damage"] and not found["good"]["damage"]
    change(folder / "good", "UPDATE facts SET value = 1 WHERE round = 2 AND name = 'accuracy'")
    assert b"the record of round 2 is not what was written" in Watch(folder).description("good")


def test_a_run_that_goes_while_it_is_looked_at_is_no_error(folder):
    watch = Watch(folder)
    watch.summaries()
    paths = watch.paths()
    watch.paths = lambda: paths
    shutil.rmtree(folder / "other")
    found = {run["id"]: run for run in watch.summaries()}
    assert found["other"]["state"] == "unreadable" and b"error" in watch.description("other")
