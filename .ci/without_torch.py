"""A pytest plug-in for machines without torch: what needs it is left out and counted, and the rest must pass.

PYTHONPATH=.ci python -m pytest -p without_torch tests/aggregation
"""

from collections.abc import Generator
from typing import Any

import pytest

_left_out: dict[str, list[str]] = {"file": [], "test": []}


def _needs_torch(error: BaseException | None) -> bool:
    """Whether the error, or one that led to it, is that torch is not there."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, ModuleNotFoundError) and (error.name or "").split(".")[0] == "torch":
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False


def _skip(report: Any, kind: str) -> Any:
    _left_out[kind].append(report.nodeid)
    report.outcome, report.longrepr = "skipped", (report.nodeid, 0, "needs torch")
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, Any]:
    """A file that cannot be imported without torch is left out."""
    report = yield
    call = getattr(report, "call", None)
    missing = call is not None and call.excinfo is not None and _needs_torch(call.excinfo.value)
    return _skip(report, "file") if report.failed and missing else report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """A test that comes upon torch later is left out too."""
    report = yield
    missing = call.excinfo is not None and _needs_torch(call.excinfo.value)
    return _skip(report, "test") if report.failed and missing else report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say what was left out."""
    for name in _left_out["file"]:
        terminalreporter.write_line(f"left out, needs torch: {name}")
    if _left_out["test"]:
        terminalreporter.write_line(f"left out, needs torch: {len(_left_out['test'])} tests in other files")
