"""Every cell of every paper runs at smoke scale; every config at every scale is valid."""

import math
from pathlib import Path

import pytest

from flockwise.papers import NAMES, PaperStudy
from flockwise.studies.results import cell_digest

COUNTS = {"flic": 24, "fl-hc": 95, "byzantine-cfl": 60, "mini-fl": 312, "communities": 49}
SCALES = ("smoke", "short", "full")


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_cell_runs_at_smoke_scale_and_gives_its_numbers(name: str, tmp_path: Path) -> None:
    study = PaperStudy(name, scale="smoke", out=tmp_path, seeds=1)
    assert study.carry_out(jobs=1)
    assert not study.failed and not study.missing
    results = {(result.table, result.cell): result for result in study.results}
    assert len(results) == COUNTS[name]
    for cell in study.cells:
        numbers = study.numbers(cell, results[cell.table, cell.name])
        assert any(math.isfinite(value) for value in numbers.values()), (cell.table, cell.name, numbers)
    assert not list((tmp_path / name / "runs").glob("*"))


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", NAMES)
def test_every_config_is_valid_and_no_two_cells_of_a_table_have_one_name(name: str, scale: str) -> None:
    cells = PaperStudy(name, scale=scale, seeds=1).cells
    assert len({(cell.table, cell.name) for cell in cells}) == len(cells) == COUNTS[name]
    assert not [cell.error for cell in cells if cell.error]


@pytest.mark.parametrize("name", NAMES)
def test_cells_are_the_same_at_every_scale(name: str) -> None:
    names = [
        [(cell.table, cell.name) for cell in PaperStudy(name, scale=scale, seeds=1).cells] for scale in SCALES
    ]
    assert names[0] == names[1] == names[2]


def test_full_scale_cells_differ_from_each_other() -> None:
    marks = [cell_digest(cell) for cell in PaperStudy("mini-fl", scale="full", seeds=1).cells]
    assert len(set(marks)) == len(marks)


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
