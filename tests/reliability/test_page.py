"""The page of promises is what is on record, and its rows name tests that exist."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HERE = ROOT / "benchmarks" / "reliability"


@pytest.fixture(autouse=True)
def _beside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(HERE))


def test_the_page_is_made_from_what_is_on_record() -> None:
    from page import page

    assert page() == (ROOT / "docs" / "reliability.md").read_text(), "run benchmarks/reliability/page.py"


def test_the_tests_of_every_row_exist() -> None:
    from run import rows

    assert len(rows()) == 32
    for row in rows():
        for name in row["tests"]:
            path, _, test = name.partition("::")
            assert (ROOT / path).exists(), name
            assert not test or f"def {test}(" in (ROOT / path).read_text(), name


def test_what_was_asked_is_counted_by_tests_of_the_row() -> None:
    from run import rows

    for row in rows():
        assert row.get("asked") or row.get("asks"), row["row"]
        for asked in row.get("asked", ()):
            assert ("by" in asked) != ("record" in asked), row["row"]
            for name in asked.get("by", ()):
                whole = [test for test in row["tests"] if test.startswith(name) or test.endswith(f"::{name}")]
                files = [ROOT / test for test in row["tests"] if "::" not in test and test.endswith(".py")]
                folders = [file for test in row["tests"] for file in (ROOT / test).glob("*.py")]
                assert whole or any(f"def {name}(" in file.read_text() for file in [*files, *folders]), name


def test_the_page_says_how_many_of_those_asked_for_were_counted() -> None:
    from page import _asked, _short

    row = {"row": 4, "asked": [{"what": "flips", "number": 100, "by": ["test_flips", "tests/more"]}]}
    found = {
        "cases": {"tests/a.py::test_flips": 60, "tests/more/b.py::test_x": 9, "tests/a.py::test_other": 70}
    }
    assert _asked(row, found) == "69 of the 100 flips asked" and _short(row, found)
    found["cases"]["tests/a.py::test_flips"] = 91
    assert _asked(row, found) == "100 flips, 100 asked" and not _short(row, found)
    assert _asked(row, {}) == "100 flips, not counted apart" and _short(row, None)


def test_a_test_that_was_tried_again_stands_in_place_of_what_it_was() -> None:
    from standing import standing

    whole = {
        "cases": {"a.py::test_x": 3, "a.py::test_y": 2}, "failed": ["a.py::test_x[1]", "a.py::test_y"], "measured": {},
        "total": 5, "passed": 2,
    }  # fmt: skip
    again = {"only": "test_x", "cases": {"a.py::test_x": 30}, "failed": [], "measured": {"s": {}}}
    found = standing([whole, again])
    assert found is not None and found["failed"] == ["a.py::test_y"] and found["cases"]["a.py::test_x"] == 30
    assert (
        (found["passed"], found["total"]) == (30, 32)
        and found["again"] == [again]
        and found["measured"] == {"s": {}}
    )
    worse = standing([whole, again, {**again, "failed": ["a.py::test_x[2]"]}])
    assert worse is not None and (worse["passed"], worse["total"]) == (0, 32), (
        "no case of a test that failed counts"
    )
    assert standing([whole, again, whole]) == whole, "all of the row was run again"
    assert standing([again]) is None and standing([{"total": 5}, again]) == {"total": 5}


def test_what_was_measured_is_of_code_in_the_history_or_said_not_to_be() -> None:
    from records import is_lost

    log = subprocess.run(["git", "rev-list", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    shallow = subprocess.run(
        ["git", "rev-parse", "--is-shallow-repository"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if log.returncode or shallow.stdout.strip() != "false":
        pytest.skip("needs the history: git fetch --unshallow")
    history = set(log.stdout.split())
    for path in sorted((HERE / "results").glob("*.json")):
        found = json.loads(path.read_text())
        assert (found["commit"] in history) != is_lost(found), path.name


def test_a_million_inputs_are_asked_of_every_decoder() -> None:
    pytest.importorskip("flwr", reason="needs flockwise[flower]")
    pytest.importorskip("starlette", reason="needs flockwise[dashboard]")
    from run import rows

    from tests.reliability.fuzz.target import all_targets

    (asked,) = [each for row in rows() for each in row.get("asked", ()) if each.get("record") == "decoders"]
    assert asked["number"] == len(all_targets())


def test_a_mutant_is_one_change() -> None:
    from mutants import mutants

    source = "def f(a, b):\n    if a < b and not a:\n        return a + 1\n    return None\n"
    found = {mutant.name for mutant in mutants(source)}
    assert {"a < b -> a <= b", "a < b -> a >= b", "not a -> a", "a + 1 -> a - 1", "1 -> 2"} <= found
    assert "a < b and (not a) -> a < b or not a" in found and "return a + 1 -> return None" in found


def test_a_mutant_reaches_whoever_has_taken_the_function() -> None:
    """In a process of its own: the module stays changed."""
    program = (
        "import sys, ast; sys.path[:0] = sys.argv[1:]\n"
        "from grafting import graft\nfrom flockwise.kernels import parallel\n"
        "from flockwise.kernels.columns import blocks\nbefore = blocks(5, 2)\n"
        "source = open(parallel.__file__).read().replace('range(0, size, block)', 'range(1, size, block)')\n"
        "graft(parallel, ast.parse(source))\nassert before[0].start == 0 and blocks(5, 2)[0].start == 1\n"
    )
    subprocess.run([sys.executable, "-c", program, str(HERE)], check=True)
