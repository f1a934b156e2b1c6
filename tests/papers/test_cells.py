"""Every cell of every paper runs at smoke scale; every config at every scale is valid."""

import math
from pathlib import Path

import pytest

from flockwise.papers import PAPERS, SCALES, Plan, missing, run_cells
from flockwise.papers.configs import config_of, digest

COUNTS = {"flic": 20, "fl-hc": 88, "byzantine-cfl": 24, "mini-fl": 168, "communities": 27}


@pytest.mark.slow
@pytest.mark.parametrize("name", PAPERS)
def test_every_cell_runs_at_smoke_scale_and_gives_its_numbers(name: str, tmp_path: Path) -> None:
    plan = Plan(PAPERS[name], "smoke", out=tmp_path)
    todo = missing(plan)
    results = {(result.table, result.cell): result for result in run_cells(plan, todo)}
    assert len(results) == len(todo) == COUNTS[name]
    for cell in plan.cells():
        result = results[cell.table, cell.name]
        assert set(result.values) == {measure.name for measure in cell.measures}
        first = result.values[cell.measures[0].name]
        assert first is None or math.isfinite(first)
    assert missing(plan) == []
    assert not list((tmp_path / "runs").glob("*/*"))


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", PAPERS)
def test_every_config_is_valid_and_no_two_cells_of_a_table_have_one_name(name: str, scale: str) -> None:
    paper = PAPERS[name]
    cells = paper.cells(scale)
    assert len({(cell.table, cell.name) for cell in cells}) == len(cells) == COUNTS[name]
    for cell in cells:
        if not cell.compute:
            config_of(paper.folder, cell.config, cell.overrides, seed=0)
        if cell.prefix:
            config_of(paper.folder, cell.prefix.config, cell.prefix.overrides, seed=0)


@pytest.mark.parametrize("name", PAPERS)
def test_cells_are_the_same_at_every_scale(name: str) -> None:
    names = [[(cell.table, cell.name) for cell in PAPERS[name].cells(scale)] for scale in SCALES]
    assert names[0] == names[1] == names[2]


def test_full_scale_cells_differ_from_each_other() -> None:
    paper = PAPERS["mini-fl"]
    hashes = [digest(paper.folder, c.config, c.overrides, 0) for c in paper.cells("full")]
    assert len(set(hashes)) == len(hashes)


def test_the_attackers_of_mini_fl_are_those_of_its_table_3() -> None:
    from flockwise.data import load
    from flockwise.splits import SPLITS

    groups = SPLITS["noniid_degree"].function(load("digits")).groups
    assert groups is not None
    members = {group: [int(c) + 1 for c in (groups == group).nonzero()[0]] for group in range(5)}
    assert members == {
        0: [1, 6, 11, 16, 19],
        1: [2, 7, 12, 17, 20],
        2: [3, 8, 13, 18],
        3: [4, 9, 14],
        4: [5, 10, 15],
    }
