"""A plug-in for pytest that counts what each test has tried: `-p tally --tally FILE [--times 20] [--only TEST]`.

A property test counts the examples it is asked for, `--times` as many as usual; any other test counts as one case for
each set of parameters, or as many as it says itself (`record_property("cases", n)`). What it has measured is kept.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

_found: dict[str, dict[str, Any]] = {}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Where the counts go, how many times the usual examples are tried, and of which test."""
    parser.addoption("--tally", type=Path, default=None)
    parser.addoption("--times", type=int, default=1)
    parser.addoption("--only", default="", help="one test, with all its parameters")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Property tests try as many examples as they are asked for."""
    times, only = config.getoption("--times"), config.getoption("--only")
    if only:
        items[:] = [item for item in items if item.nodeid.partition("[")[0].endswith(f"::{only}")]
    for item in items:
        function = getattr(item, "obj", None)
        usual = getattr(function, "_hypothesis_internal_use_settings", None)
        examples = (usual or settings()).max_examples if getattr(function, "is_hypothesis_test", False) else 1
        if examples > 1 and times > 1:
            function._hypothesis_internal_use_settings = settings(
                usual, max_examples=examples * times, deadline=None
            )
        cases = examples * times if examples > 1 else 1
        _found[item.nodeid] = {"cases": cases, "outcome": "not run"}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """A test that was set up counts by how it went."""
    if report.when == "call" or (report.when == "setup" and report.outcome != "passed"):
        told = dict(report.user_properties).get("cases")
        _found[report.nodeid]["outcome"] = report.outcome
        if isinstance(told, int):
            _found[report.nodeid]["cases"] = told
        measured: dict[str, list[float]] = {}
        for name, value in report.user_properties:
            if name.startswith("measured "):
                measured.setdefault(name.removeprefix("measured "), []).append(value)
        _found[report.nodeid]["measured"] = measured


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the counts."""
    target = session.config.getoption("--tally")
    if target is not None and not hasattr(session.config, "workerinput"):
        target.write_text(json.dumps(_found, indent=1) + "\n")
