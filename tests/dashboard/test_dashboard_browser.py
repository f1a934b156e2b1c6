"""The dashboard in a real browser, beside a run that goes on."""

import json

import fake_run
import numpy as np
import pytest
from browsing import colours, opened, points

from flockwise.dashboard import start
from flockwise.store import reopen_run
from flockwise.store.policy import CheckpointPolicy


@pytest.fixture
def running(tmp_path):
    """A dashboard over a run that is stopped at round 15 of 30, taken up again: its writer is in our hands."""
    path = fake_run.byzantine(tmp_path / "byzantine", stop=15)
    fake_run.flic(tmp_path / "flic", rounds=20)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "config.toml").write_text("")
    dashboard = start(tmp_path)
    with reopen_run(path, CheckpointPolicy(every=10**9)) as writer:
        yield dashboard, writer
    dashboard.stop()


def next_round(writer, round):
    apart = np.where(np.arange(40) >= 30, 1, 0).astype(np.int8)
    arrays = {
        "flock": np.where(apart, -1, 0),
        "apart": apart,
        "trained": apart == 0,
        "accuracy": np.full(40, 0.5, np.float32),
    }
    facts = {"accuracy": 0.5, "flocks": 1, "apart": 10}
    writer.commit(round, 0.1, facts, arrays, [], {"round": np.array([round])})


def test_runs_are_listed_and_followed(chromium, running):
    dashboard, writer = running
    with opened(chromium, dashboard.link, own=dashboard.url) as page:
        page.wait_for_selector("#runs tbody tr")
        told = page.locator("#runs").inner_text()
        assert "running" in told and "finished" in told and "unreadable" in told
        assert "15 of 30" in told
        next_round(writer, 16)
        page.get_by_text("16 of 30").wait_for()
        page.get_by_role("link", name="byzantine-cfl").click()
        page.wait_for_selector("#accuracy canvas")


def test_a_phone_shows_accuracy_in_the_list_of_runs_without_scrolling(chromium, running):
    dashboard, _ = running
    with opened(chromium, dashboard.link, own=dashboard.url) as page:
        page.set_viewport_size({"width": 390, "height": 800})
        page.wait_for_selector("#runs tbody tr")
        (heading,) = page.get_by_role("columnheader", name="accuracy").all()
        box = heading.bounding_box()
        assert box and box["x"] >= 0 and box["x"] + box["width"] <= 390


def test_a_running_run_is_followed_without_reload(chromium, running):
    dashboard, writer = running
    with opened(chromium, f"{dashboard.url}/run/byzantine", own=dashboard.url) as page:
        page.wait_for_selector("#accuracy canvas")
        assert page.locator("#state").inner_text() == "running"
        page.evaluate("window.stayed = true")
        page.locator("#clients input[type=search]").fill("client 3")
        before = points(page, "accuracy")
        next_round(writer, 16)
        page.wait_for_selector("html[data-round='16']")
        assert points(page, "accuracy") > before
        assert colours(page, "strip") >= 2
        assert page.evaluate("window.stayed")
        assert page.locator("#clients input[type=search]").input_value() == "client 3"
        assert page.evaluate("document.activeElement.type") == "search"
        assert page.locator("#clients output").inner_text() == "11 of 40"


def test_a_client_is_released_from_the_page(chromium, running):
    dashboard, writer = running
    with opened(chromium, dashboard.link, own=dashboard.url) as page:
        assert "token" not in page.url
        page.get_by_role("link", name="byzantine-cfl").click()
        page.wait_for_selector("#apart tbody tr")
        row = page.locator("#apart tbody tr", has_text="client 33")
        row.get_by_role("button", name="Release").click()
        row.get_by_text("release: at the next round").wait_for()
        (file,) = (writer.path / "requests").glob("*.json")
        assert json.loads(file.read_text()) == {"action": "release", "client": 33}
        file.unlink()
        row.get_by_role("button", name="Confirm hostile").wait_for()


def test_without_the_token_the_page_asks_for_it(chromium, running):
    dashboard, writer = running
    with opened(chromium, f"{dashboard.url}/run/byzantine", own=dashboard.url) as page:
        page.wait_for_selector("#apart tbody tr")
        page.locator("#apart tbody tr", has_text="client 33").get_by_role("button", name="Confirm").click()
        page.locator("#token input").fill(dashboard.token)
        page.get_by_role("button", name="Use it").click()
        page.get_by_text("confirm hostile: at the next round").wait_for()
        (file,) = (writer.path / "requests").glob("*.json")
        assert json.loads(file.read_text()) == {"action": "confirm", "client": 33}


def test_a_private_dashboard_asks_for_the_token_once_and_then_follows(chromium, tmp_path):
    path = fake_run.byzantine(tmp_path / "byzantine", stop=15)
    dashboard = start(tmp_path, private=True)
    try:
        with (
            reopen_run(path, CheckpointPolicy(every=10**9)) as writer,
            opened(chromium, dashboard.url, own=dashboard.url, ready=False, told="401") as page,
        ):
            page.get_by_text("Looking at these runs needs the token.").wait_for()
            assert page.locator("#runs").count() == 0
            page.locator("#token input").fill(dashboard.token)
            page.get_by_role("button", name="Use it").click()
            page.get_by_text("15 of 30").wait_for()
            next_round(writer, 16)
            page.get_by_text("16 of 30").wait_for()
    finally:
        dashboard.stop()


def test_runs_can_be_compared_from_the_list(chromium, running):
    dashboard, _ = running
    with opened(chromium, dashboard.link, own=dashboard.url) as page:
        page.wait_for_selector("#runs tbody tr")
        for name in ("flic", "byzantine-cfl"):
            page.get_by_role("checkbox", name=f"Choose {name}").check()
        page.get_by_role("button", name="Compare").click()
        page.wait_for_selector("#compared canvas")
        assert points(page, "compared") >= 35


def test_a_run_that_breaks_while_watched_keeps_its_last_pictures(chromium, running):
    dashboard, writer = running
    with opened(chromium, f"{dashboard.url}/run/byzantine", own=dashboard.url) as page:
        page.wait_for_selector("#accuracy canvas")
        kept = (writer.path / "config.toml").read_text()
        (writer.path / "config.toml").write_text("name = [")
        page.get_by_text("This run cannot be read now").wait_for()
        assert points(page, "accuracy") > 0
        (writer.path / "config.toml").write_text(kept)
        page.locator("#message").wait_for(state="hidden")
