"""Verdicts, intervals, pages and drawings."""

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from click.testing import CliRunner

from flockwise.cli.app import app
from flockwise.papers import PAPERS, Measure, Result, rows_of
from flockwise.papers.pages import overview, page
from flockwise.papers.verdicts import (
    BETTER,
    MISSED,
    NOT_RUN,
    REACHED,
    SHOWN,
    UNDEFINED,
    claim_verdicts,
    verdict,
)
from flockwise.pictures import heat_map, line_chart


def _result(table: str, cell: str, seed: int = 0, **values: float) -> Result:
    named = {name.replace("_", " "): value for name, value in values.items()}
    return Result("mini-fl", table, cell, "full", seed, "hash", dict(named))


@pytest.mark.parametrize(
    ("kind", "published", "values", "expected"),
    [
        ("percent", 90.0, (89.0,), REACHED),
        ("percent", 90.0, (88.9,), MISSED),
        ("percent", 90.0, (91.0,), REACHED),
        ("percent", 90.0, (91.1,), BETTER),
        ("percent", 90.0, (88.0, 91.0), REACHED),
        ("share", 0.99, (0.979,), MISSED),
        ("fact", 5.0, (5.0, 5.0), REACHED),
        ("fact", 5.0, (5.0, 4.0), MISSED),
        ("number", 5.0, (7.0,), SHOWN),
        ("percent", None, (7.0,), SHOWN),
        ("percent", 90.0, (), NOT_RUN),
    ],
)
def test_a_point_decides(
    kind: str, published: float | None, values: tuple[float, ...], expected: str
) -> None:
    assert verdict(Measure("m", lambda finished: 0.0, published, kind), values) == expected  # type: ignore[arg-type]


def test_the_interval_is_students_over_seeds() -> None:
    results = [
        _result("4", "1.0 no attack avg", seed, test_accuracy=value)
        for seed, value in enumerate((88.0, 90.0))
    ]
    (row,) = (r for r in rows_of(PAPERS["mini-fl"].cells("full"), results, "full") if r.values)
    assert row.mean == 89.0
    assert row.half_width == pytest.approx(12.706, abs=1e-3)  # t(0.975, 1) * sqrt(2) / sqrt(2)
    assert row.difference == pytest.approx(0.11)


def test_a_page_shows_every_cell_also_those_not_run() -> None:
    text = page(PAPERS["mini-fl"], [_result("4", "1.0 no attack avg", test_accuracy=80.0)])
    assert "| 1.0 no attack avg | test accuracy | 88.89 | 80.00 | -8.89 | 1 | not reached |" in text
    assert text.count(NOT_RUN + " |") >= 167


def test_a_cell_that_has_not_been_run_takes_one_line_with_all_that_is_published() -> None:
    text = page(PAPERS["fl-hc"], [])
    numbers = "accuracy after clustering; accuracy at round 50; clients at 99% after clustering; clients at 99% at round 50"
    assert f"| cf 0.1, n 1 | {numbers}; flocks | 91.10; 98.50; 62; 83; - | | | | {NOT_RUN} |" in text
    assert text.count("| cf 1, n 10 |") == 3  # once in each of Tables I to III


@pytest.mark.parametrize("name", PAPERS)
def test_claims_wait_for_their_cells(name: str) -> None:
    paper = PAPERS[name]
    assert paper.claims
    assert {v for _, v in claim_verdicts(paper, rows_of(paper.cells("full"), [], "full"))} == {NOT_RUN}


def test_a_claim_is_judged_on_our_numbers() -> None:
    paper = PAPERS["flic"]
    results = [
        Result("flic", "II", "60 attackers, FLIC", "full", 0, "", {"accuracy of loyal clients": 0.95}),
        Result("flic", "II", "60 attackers, median", "full", 0, "", {"accuracy": 0.1}),
    ]
    verdicts = dict(claim_verdicts(paper, rows_of(paper.cells("full"), results, "full")))
    assert verdicts["FLIC stands at 60 attackers where the median falls"] == REACHED


@pytest.mark.parametrize("ifca, expected", [(20.0, REACHED), (26.0, MISSED), (None, NOT_RUN)])
def test_ifca_is_compared_by_the_global_model_as_in_the_paper(ifca: float | None, expected: str) -> None:
    paper = PAPERS["communities"]
    scores = {"avg": 30.0, "1nn": 25.0, "wnn": 25.0, "late": 28.0, "ifca": ifca}
    results = [
        _result("Figure 4", f"{name}, 100%", **{"accuracy of the global model": score})
        for name, score in scores.items() if score is not None
    ]  # fmt: skip
    verdicts = dict(claim_verdicts(paper, rows_of(paper.cells("full"), results, "full")))
    (found,) = (v for claim, v in verdicts.items() if claim.startswith("IFCA's global model"))
    assert found == expected


def test_the_overview_has_every_table(tmp_path: Path) -> None:
    text = overview(list(PAPERS.values()), tmp_path)
    for paper in PAPERS.values():
        for table in {cell.table for cell in paper.cells("full")}:
            assert f"| [{paper.title}](papers/{paper.name}.md) | {table} |" in text


def test_drawings_are_well_formed_and_escape_words() -> None:
    chart = line_chart("a < b & c", "x", "y", [("<i>", [(0, 1.0), (1, 2.0)])], marks=[(1, 1.5, "30")])
    map_ = heat_map("m", "x", "y", [[1.0, None], [float("nan"), 2.0]], ["a", "b"], ["c", "d"])
    for drawing in (chart, map_, line_chart("empty", "x", "y", [])):
        ElementTree.fromstring(drawing)


def test_lines_that_hide_each_other_are_drawn_once_with_both_names() -> None:
    line = [(0.0, 1.0), (1.0, 2.0)]
    chart = line_chart("t", "x", "y", [("1nn", line), ("avg", [(0.0, 1.0), (1.0, 3.0)]), ("wnn", line)])
    assert chart.count("<polyline") == 2
    assert re.findall(r">([a-z0-9]+)</text>", chart)[-3:] == ["1nn", "wnn", "avg"]


def test_the_command_runs_a_table_writes_its_page_and_does_nothing_the_second_time(tmp_path: Path) -> None:
    arguments = ["paper", "flic", "--scale", "smoke", "--table", "Figure 1", "--out", str(tmp_path)]
    first = CliRunner().invoke(app, arguments, catch_exceptions=False)
    again = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert "[2/2]" in first.output and "[" not in again.output
    assert (tmp_path / "pages" / "flic.md").is_file()
    assert len(list((tmp_path / "results" / "flic").glob("*/*/*.json"))) == 2


def test_an_unknown_table_is_named_with_the_known_ones(tmp_path: Path) -> None:
    outcome = CliRunner().invoke(app, ["paper", "flic", "--table", "9", "--out", str(tmp_path)])
    assert "known are" in str(outcome.exception)


def test_axes_are_numbered_with_round_numbers() -> None:
    chart = line_chart("t", "round", "accuracy", [("a", [(5.0, 0.1), (300.0, 0.9)])], (0.0, 1.0))
    numbers = re.findall(r">([0-9.]+)</text>", chart)
    assert numbers == ["0", "0.2", "0.4", "0.6", "0.8", "1", "50", "100", "150", "200", "250", "300"]
    assert ">7<" in line_chart("one round", "round", "", [("a", [(7.0, 0.5)])])


def test_a_number_that_one_seed_could_not_give_is_no_mean_of_the_others() -> None:
    paper = PAPERS["flic"]
    cell = next(cell for cell in paper.cells("full") if cell.table == "II")
    name = cell.measures[0].name
    results = [_result("II", cell.name, 0, **{name: 0.96}), _result("II", cell.name, 1, **{name: None})]
    row = next(row for row in rows_of(paper.cells("full"), results, "full") if row.cell.name == cell.name)
    assert row.verdict == UNDEFINED and row.mean is None


@pytest.mark.parametrize("removed, expected", [(30.0, REACHED), (1.0, MISSED), (0.0, MISSED)])
def test_all_faulty_clients_must_have_left(removed: float, expected: str) -> None:
    paper = PAPERS["byzantine-cfl"]
    values = {"faulty clients removed": removed, "round of the last removal": 12.0}
    rows = rows_of(paper.cells("full"), [_result("1", "mnist, noisy, CFL", **values)], "full")
    assert claim_verdicts(paper, rows)[0][1] == expected
