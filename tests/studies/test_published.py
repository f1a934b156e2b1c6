"""Verdicts and claims: by interval, one seed settles nothing, what a trivial run passes tells nothing."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from flockwise.cli.app import app
from flockwise.errors import ConfigError
from flockwise.studies.cells import cells_of
from flockwise.studies.published.bars import Bar, Block, read_bars
from flockwise.studies.published.drawing import Lines, beside
from flockwise.studies.published.history import again, without_commit
from flockwise.studies.published.measured import Measured
from flockwise.studies.published.verdicts import counted, rows_of
from flockwise.studies.results import current, superseded
from tests.studies.made_up import bar_of, measured_of, result_of, study_of

TIGHT, WIDE = (0.0, 0.1, -0.1), (0.0, 4.0, -4.0)  # around a mean; intervals of about 0.25 and 10


def _verdict(values: list[float], bar: Bar, **others: list[float]) -> str:
    (row,) = (row for row in rows_of(measured_of({"ours": values, **others}), [bar]) if row.bar)
    return row.told


def _around(mean: float, spread: tuple[float, ...]) -> list[float]:
    return [mean + one for one in spread]


@pytest.mark.parametrize(
    ("mean", "spread", "expected"),
    [
        (90.2, TIGHT, "agrees"),
        (89.3, TIGHT, "agrees"),
        (92.0, TIGHT, "better"),
        (88.0, TIGHT, "worse"),
        (91.0, TIGHT, "open: within the margin, by less than seeds differ"),
        (90.0, WIDE, "open: within the margin, by less than seeds differ"),
        (93.0, WIDE, "open: above, by less than seeds differ"),
    ],
)
def test_the_interval_decides(mean: float, spread: tuple[float, ...], expected: str) -> None:
    assert _verdict(_around(mean, spread), bar_of(90.0)) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(90.0, "within the margin"), (70.0, "below"), (99.0, "above")],
)
def test_one_seed_settles_nothing_however_far_it_is(value: float, expected: str) -> None:
    assert _verdict([value], bar_of(90.0)) == f"open: one seed, {expected}"


def test_two_seeds_settle_nothing_and_a_seed_on_the_other_side_leaves_it_open() -> None:
    assert _verdict([80.0, 80.0], bar_of(90.0)) == "open: two seeds, below"
    many = [80.0, 80.1] * 8
    assert _verdict(many, bar_of(90.0)) == "worse"
    assert _verdict([*many, 89.5], bar_of(90.0)) == "open: below, by less than seeds differ"


def test_a_baseline_under_attack_only_differs() -> None:
    for mean in (80.0, 99.0):
        bar = bar_of(90.0, baseline_under_attack=True)
        assert _verdict(_around(mean, TIGHT), bar) == "differs"
    assert _verdict(_around(90.0, TIGHT), bar_of(90.0, baseline_under_attack=True)) == "agrees"


def test_the_published_spread_over_runs_widens_the_interval_and_that_over_clients_does_not() -> None:
    values = _around(93.0, TIGHT)
    assert _verdict(values, bar_of(90.0, spread=10.0, spread_over="runs", seeds=20)).startswith("open")
    assert _verdict(values, bar_of(90.0, spread=10.0, spread_over="clients", seeds=20)) == "better"
    assert (
        _verdict(values, bar_of(90.0, spread=10.0, spread_over="runs")) == "better"
    )  # of how many is not known


def test_what_is_counted_must_be_the_same() -> None:
    exact = bar_of(5.0, unit="number")
    assert _verdict([5.0, 5.0, 5.0], exact) == "agrees"
    assert _verdict([4.0, 4.0, 4.0], exact) == "worse"
    assert _verdict([5.0, 4.0], exact).startswith("open")


def test_a_bar_that_a_trivial_run_passes_tells_nothing_unless_ours_is_below_it() -> None:
    alone = {"table": "", "cell": "alone", "number": "accuracy"}
    for trivial in (95.0, alone):
        bar = bar_of(90.0, trivial=trivial)
        assert _verdict(_around(90.0, TIGHT), bar, alone=[95.0]) == "tells nothing"
        assert _verdict([99.0], bar, alone=[95.0]) == "tells nothing"
        assert _verdict(_around(80.0, TIGHT), bar, alone=[95.0]) == "worse"
    assert _verdict(_around(90.0, TIGHT), bar_of(90.0, trivial=50.0)) == "agrees"
    assert (
        _verdict(_around(90.0, TIGHT), bar_of(90.0, trivial=alone), alone=[]) == "agrees"
    )  # not run: unknown


def test_what_was_not_run_or_not_measured_says_so() -> None:
    assert _verdict([], bar_of(90.0), other=[1.0]) == "not run"
    measured = measured_of({"ours": [1.0]}, number="flocks")
    assert next(row.told for row in rows_of(measured, [bar_of(90.0)]) if row.bar) == "not measured"


def test_a_run_counts_once_with_its_worst_verdict() -> None:
    values = _around(90.0, TIGHT)
    measured = measured_of({"one": values, "twin": values, "other": _around(91.0, (0.0, 0.1, -0.2))})
    bars = [bar_of(90.0, "one"), bar_of(95.0, "twin"), bar_of(90.9, "other")]
    rows = rows_of(measured, bars)
    assert [row.told for row in rows] == ["agrees", "worse", "agrees"]
    assert counted(rows) == {"worse": 1, "agrees": 1}
    assert counted(rows_of(measured_of({"one": [], "twin": [], "x": [1.0]}), bars[:2])) == {"not run": 2}


def test_runs_with_one_curve_and_different_numbers_are_not_one_run() -> None:
    """Two collapsed models have the same accuracy round by round, and yet not the same flocks."""
    cells = cells_of(study_of({"method": ["one", "other"]}, 3, show={"numbers": ["flocks"]}))
    made = [
        result_of(cell, {"flocks": 4.0 + (cell.name == "other")}, curves={"accuracy": [0.1]})
        for cell in cells
    ]
    bars = [
        Bar(
            "T", "", name, "flocks", 4.0, None,
            Block.model_validate(
                {"place": "T", "table": "", "number": "flocks", "unit": "number", "rows": {name: [4.0]}}
            ),
        )
        for name in ("one", "other")
    ]  # fmt: skip
    assert counted(rows_of(Measured(tuple(cells), tuple(made)), bars)) == {"agrees": 1, "better": 1}


def test_a_row_of_another_length_is_named(tmp_path: Path) -> None:
    (tmp_path / "published.toml").write_text(
        '[[published]]\nplace = "Table 9"\ntable = ""\nnumbers = ["a", "b"]\nrows = { "x" = [1.0] }\n'
    )
    with pytest.raises(ConfigError, match="Table 9: 'x' has 1 values, 2 wanted"):
        read_bars(tmp_path)
    (tmp_path / "published.toml").write_text("[[published]]\nplace = 1\n")
    with pytest.raises(ConfigError, match="published 1, place = 1: must be a word"):
        read_bars(tmp_path)
    (tmp_path / "published.toml").write_text("nonsense")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_bars(tmp_path)


def test_columns_are_cells_or_numbers_and_what_is_not_there_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "published.toml").write_text(
        '[[published]]\nplace = "A"\ntable = "t"\nnumber = "n"\ncells = ["x", "y"]\nrows = { "{}, z" = [1.0, "n/d"] }\n'
        '[[published]]\nplace = "B"\ntable = "t"\nnumbers = ["n", "m"]\nrows = { "c" = [2.0, 3.0] }\n'
    )
    found = [(bar.cell, bar.number, bar.value) for bar in read_bars(tmp_path)]
    assert found == [("x, z", "n", 1.0), ("c", "n", 2.0), ("c", "m", 3.0)]


def test_a_study_with_published_numbers_beside_it_gets_a_page_of_verdicts(tmp_path: Path) -> None:
    (tmp_path / "made_up_numbers.py").write_text(
        "def values(labels, seed):\n    return {'accuracy': [90.0 + seed / 10 + 2 * (labels['method'] == 'b')]}\n"
    )
    (tmp_path / "study.toml").write_text(
        'compute = "made_up_numbers:values"\nseeds = 3\nvary = { method = { a = {}, b = {} } }\n'
    )
    (tmp_path / "published.toml").write_text(
        '[[published]]\nplace = "Table 1"\ntable = ""\nnumbers = ["accuracy"]\nrows = { "a" = [90.0], "b" = [99.0] }\n'
    )
    (tmp_path / "claims.toml").write_text(
        '[[claims]]\nsays = "b beats a"\nplace = "abstract"\n[[claims.tests]]\n'
        'left = { table = "", cell = "b", number = "accuracy" }\n'
        'right = { table = "", cell = "a", number = "accuracy" }\n'
    )
    arguments = ["study", str(tmp_path / "study.toml"), "--out", str(tmp_path / "out"), "--jobs", "1"]
    outcome = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert outcome.exit_code == 0 and "beside what was published" in outcome.output
    page = (tmp_path / "out" / "published" / "study.md").read_text()
    assert "| a | accuracy | 90 | 90.10 ± 0.2484 | +0.1 | 3 | agrees |" in page
    assert "| b | accuracy | 99 | 92.10 ± 0.2484 | -6.9 | 3 | worse |" in page
    assert "| **supported** | b beats a | abstract |" in page


def test_seeds_are_bars_at_few_points_and_a_band_along_many_and_one_seed_has_neither() -> None:
    few = [(float(x), 1.0) for x in range(3)]
    many = [(float(x), 1.0) for x in range(30)]
    plain = beside("t", "x", "y", [Lines("one seed", few, [])], (0.0, 2.0)).svg()
    bars = beside("t", "x", "y", [Lines("seeds", few, [], [0.1, None, 0.1])], (0.0, 2.0)).svg()
    band = beside("t", "x", "y", [Lines("seeds", many, [(29.0, 1.5)], [0.1] * 30)], (0.0, 2.0)).svg()
    assert bars.count("<line") == plain.count("<line") + 2
    assert band.count("<line") == plain.count("<line") and "0.18" in band and "0.18" not in bars
    cut = beside("t", "x", "y", [Lines("far", [(0.0, 9.0), (1.0, 1.0)], [], [0.1, 0.1])], (0.0, 2.0)).svg()
    assert cut.count("<line") == plain.count("<line") + 1


def test_what_was_measured_again_is_told_with_both_commits_and_the_newest_counts() -> None:
    cells = cells_of(study_of({"method": ["a", "b"]}, 1))
    old = [result_of(cell, {"accuracy": 49.55, "seconds": 1.0}) for cell in cells]
    new = [
        result_of(cell, {"accuracy": value, "seconds": 2.0}, commit="abcdef0123", date="2026-02-01T00:00:00Z")
        for cell, value in zip(cells, (49.56, 49.55), strict=True)
    ]
    assert current([*new, *old], cells) == new and superseded([*new, *old], cells) == old
    told = again(Measured(tuple(cells), tuple(new), tuple(old)))
    assert told[2:] == [
        "|  | a | 0 | accuracy | 49.55 | unknown | 49.56 | abcdef0 |",
        "|  | b | 0 | accuracy | 49.55 | unknown | the same | abcdef0 |",
    ]
    assert again(Measured(tuple(cells), tuple(new))) == []
    assert without_commit(Measured(tuple(cells), tuple(old))) == ["- , seed 0: all 2 cells"]
    assert without_commit(Measured(tuple(cells), (*old[:1], *new[1:]))) == ["- , seed 0: a"]
