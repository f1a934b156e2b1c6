"""The report as text: escaping, policy, and what it says of odd runs."""

import base64
import datetime
import hashlib
import json
import os
import re
import sqlite3
from html.parser import HTMLParser
from importlib.resources import files

import fake_run
import numpy as np
import pytest

from flockwise.errors import InputError, RunError
from flockwise.report import build_page, describe_run, write_report
from flockwise.report.page import fill, safe_json
from flockwise.store import open_run

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "{{policy}}",
    "' onload='alert(1)",
    "\u2028\u2029&amp;",
]


class Elements(HTMLParser):
    """Scripts and styles with their content, and every attribute that could fetch something."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.scripts: list[tuple[dict, str]] = []
        self.styles: list[str] = []
        self.addresses: list[str] = []
        self.policy = ""
        self._inside: tuple[str, dict] | None = None
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.addresses += [found[name] for name in ("src", "href", "action", "data") if name in found]
        self.policy = (
            found.get("content", "") if "Security-Policy" in found.get("http-equiv", "") else self.policy
        )
        self._inside = (tag, found) if tag in ("script", "style") else None

    def handle_data(self, data):
        if self._inside and self._inside[0] == "script":
            self.scripts.append((self._inside[1], data))
        elif self._inside:
            self.styles.append(data)

    def handle_endtag(self, tag):
        self._inside = None


def hashed(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    run = fake_run.flic(tmp_path_factory.mktemp("runs") / "run", clients=20, rounds=18, names=HOSTILE * 4)
    return write_report([run]).read_text(encoding="utf-8")


def test_the_charts_library_is_the_one_on_record():
    folder = files("flockwise.report").joinpath("vendor")
    record = json.loads(folder.joinpath("VERSION.json").read_text(encoding="utf-8"))
    assert record["sha256"].keys() >= {"echarts.min.js", "LICENSE", "NOTICE"}
    for name, digest in record["sha256"].items():
        assert hashlib.sha256(folder.joinpath(name).read_bytes()).hexdigest() == digest, name


def test_nothing_is_fetched_from_anywhere(page):
    found = Elements(page)
    assert all(address.startswith(("#", "data:")) for address in found.addresses), found.addresses
    assert not re.search(r"@import|url\(", "".join(found.styles))


def test_only_our_own_scripts_and_style_are_allowed(page):
    found = Elements(page)
    running = [
        content for attributes, content in found.scripts if attributes.get("type") != "application/json"
    ]
    assert len(running) == 2 and len(found.styles) == 1
    directives = dict(part.strip().split(" ", 1) for part in found.policy.split(";"))
    assert directives["default-src"] == "'none'"
    assert directives["script-src"].split() == [hashed(content) for content in running]
    assert directives["style-src"] == hashed(found.styles[0])
    assert "unsafe" not in found.policy


def test_hostile_names_stay_inside_the_data(page):
    found = Elements(page)
    assert len(found.scripts) == 3
    data = json.loads(next(content for attributes, content in found.scripts if attributes.get("type")))
    assert data["run"]["clients"]["name"] == HOSTILE * 4


def test_a_title_is_escaped():
    assert "<title>&lt;b&gt;&amp;</title>" in build_page({}, "<b>&")


def test_a_run_in_a_folder_whose_name_is_no_text_has_a_report(tmp_path):
    fake_run.flic(tmp_path / "run", clients=8, rounds=6)
    odd = tmp_path / os.fsdecode(b"\xffodd")
    try:
        (tmp_path / "run").rename(odd)
    except OSError:
        pytest.skip("this file system takes names in UTF-8 only")
    config = odd / "config.toml"
    lines = config.read_text().splitlines()
    config.write_text("\n".join(line for line in lines if not line.startswith("name")))  # so it is the title
    assert "<title>\\udcffodd" in write_report([odd], tmp_path / "one.html").read_text()


def test_a_part_that_looks_like_a_place_is_left_alone():
    assert fill("a{{x}}b{{y}}c", {"x": "{{y}}", "y": "1"}) == "a{{y}}b1c"


def test_what_json_cannot_hold_becomes_nothing_or_text():
    odd = {"value": float("nan"), "cap": [float("inf"), 1.5], "day": datetime.date(2026, 1, 2)}
    assert json.loads(safe_json(odd)) == {"value": None, "cap": [None, 1.5], "day": "2026-01-02"}


def test_where_reports_go(tmp_path, monkeypatch):
    one, two = fake_run.cfl(tmp_path / "one"), fake_run.cfl(tmp_path / "two", seed=1)
    assert write_report([one]) == one / "report.html"
    assert write_report([one], tmp_path / "new" / "a.html").is_file()
    monkeypatch.chdir(tmp_path)
    assert write_report([one, two]).resolve() == tmp_path / "comparison.html"
    with pytest.raises(InputError):
        write_report([])
    with pytest.raises(RunError):
        write_report([tmp_path / "nothing"])


def test_a_damaged_array_costs_its_picture_and_nothing_else(tmp_path):
    run = fake_run.flic(tmp_path / "run", clients=8, rounds=16)
    with sqlite3.connect(run / "run.sqlite") as database:
        database.execute("UPDATE arrays SET data = x'00' WHERE name = 'similarity'")
        database.execute(
            "UPDATE arrays SET shape = '[3, 3]', dtype = '<f4', data = zeroblob(36) WHERE name = 'map'"
        )
    database.close()
    shown = describe_run(open_run(run))
    assert shown["similarity"] == [] and shown["maps"] == []
    assert any(problem.startswith("similarity") for problem in shown["problems"])
    assert len(shown["facts"]["accuracy"]) == 16
    assert "flow" in shown and build_page({"run": shown})


def test_arrays_whose_size_changes_do_not_break_the_page(tmp_path):
    run = fake_run.flic(tmp_path / "run", clients=8, rounds=5)
    with sqlite3.connect(run / "run.sqlite") as database:
        for name in ("flock", "accuracy", "trained"):
            values = np.zeros(3, np.int64)
            database.execute(
                "UPDATE arrays SET shape = '[3]', dtype = '<i8', data = ? WHERE name = ? AND round = 3",
                (values.tobytes(), name),
            )
    database.close()
    assert build_page({"run": describe_run(open_run(run))})


def test_the_story_tells_what_happened(tmp_path):
    told = describe_run(open_run(fake_run.flic(tmp_path / "flic")))["headline"]["story"]
    assert "Since round 15 they train in flocks, 4 at the end." in told
    assert "match the true groups exactly" in told
    told = describe_run(open_run(fake_run.byzantine(tmp_path / "byzantine")))["headline"]["story"]
    assert "10 of 10 attackers are set apart." in told


def test_too_many_events_are_counted_but_not_all_listed(tmp_path):
    run = fake_run.byzantine(tmp_path / "run")
    with sqlite3.connect(run / "run.sqlite") as database:
        database.executemany(
            "INSERT INTO events (round, kind, client, message, detail) VALUES (?, 'dropout', 1, 'no reply', '{}')",
            [(1 + i % 30,) for i in range(5000)],
        )
    database.close()
    events = describe_run(open_run(run))["events"]
    assert len(events["items"]) == 3000
    assert events["counts"]["dropout"] == 5004
    assert sum(count for _, count in events["lanes"]["dropout"]) == 5004
    assert {"quarantine", "rollback", "released", "confirmed"} <= {item["kind"] for item in events["items"]}
