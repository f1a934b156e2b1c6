from dataclasses import replace

from flockwise.studies.cells import cells_of
from flockwise.studies.origin import cpu_told, origin_of
from tests.studies.made_up import result_of, study_of


def test_what_differs_between_results_is_counted():
    cells = cells_of(study_of({"method": ["a", "b", "c"]}, 1))
    commits = [("abc", True), ("abc", True), ("def", False)]
    results = [
        result_of(cell, {"accuracy": 0.5}, commit=commit, clean=clean, seconds=2.0, date=f"2026-01-0{number}")
        for number, (cell, (commit, clean)) in enumerate(zip(cells, commits, strict=True), 1)
    ]
    facts = dict(origin_of(results))
    changed = "commit def with changes that are not committed"
    assert facts["code"] == f"commit abc (2 of 3); {changed} (1 of 3)"
    assert facts["measured"] == "2026-01-01 to 2026-01-03" and facts["versions"] == "unknown"
    assert facts["training"] == "6 s, all cells together"
    assert facts["processor time"] == "unknown of 3, whose rounds took 0.0 hours by the clock"
    timed = [
        replace(result, cpu_seconds=seconds)
        for result, seconds in zip(results, (3600.0, 900.0, None), strict=True)
    ]
    assert dict(origin_of(timed))["processor time"] == (
        "1.25 CPU hours of 2 results; unknown of 1, whose rounds took 0.0 hours by the clock"
    )
    assert cpu_told([replace(results[0], seconds=7200.0), replace(results[1], seconds=7200.0, twin="a")]) == (
        "unknown of 2, whose rounds took 2.0 hours by the clock"  # one run, read twice
    )
    assert origin_of([]) == [("results", "none yet")]
