"""Finished cells are kept, a stop loses nothing, a fork gives what a whole run gives."""

from dataclasses import replace
from pathlib import Path

from flockwise.papers import PAPERS, Cell, Plan, missing, run_cells
from flockwise.papers.configs import config_of
from flockwise.papers.current import current_results
from flockwise.papers.results import read_result, result_path, write_result
from flockwise.runs import run


def _plan(tmp_path: Path, table: str = "1", name: str = "byzantine-cfl") -> Plan:
    return Plan(PAPERS[name], "smoke", out=tmp_path, tables=(table,))


def _names(todo: list[tuple[Cell, int]]) -> list[tuple[str, int]]:
    return [(cell.name, seed) for cell, seed in todo]


def test_finished_cells_are_skipped_and_other_seeds_are_not(tmp_path: Path) -> None:
    plan = _plan(tmp_path)
    todo = missing(plan)
    list(run_cells(plan, todo[:3]))
    assert _names(missing(plan)) == _names(todo[3:])
    more = Plan(plan.paper, "smoke", seeds=2, out=tmp_path, tables=plan.tables)
    assert len(missing(more)) == 2 * len(todo) - 3


def test_a_result_of_another_config_does_not_count(tmp_path: Path) -> None:
    plan = _plan(tmp_path)
    todo = missing(plan)
    (result,) = run_cells(plan, todo[:1])
    write_result(plan.results, type(result)(**{**vars(result), "config_hash": "another"}))
    assert _names(missing(plan)) == _names(todo)


def test_a_stop_inside_a_cell_goes_on_to_the_same_numbers(tmp_path: Path) -> None:
    plan, whole = _plan(tmp_path / "stopped"), _plan(tmp_path / "whole")
    cell = missing(plan)[2]
    asked = iter([False, True, True, True, True])  # before the cell, after its first round, ...
    assert list(run_cells(plan, [cell], lambda: next(asked, True))) == []
    assert _names(missing(plan))[2] == _names([cell])[0]
    (resumed,) = run_cells(plan, [cell])
    (expected,) = run_cells(whole, [cell])
    assert resumed.values == expected.values


def test_a_run_directory_broken_at_its_start_is_made_anew(tmp_path: Path) -> None:
    plan = Plan(PAPERS["byzantine-cfl"], "smoke", out=tmp_path, tables=("1",), keep_runs=True)
    cell = missing(plan)[0]
    (first,) = run_cells(plan, [cell])
    (path,) = (tmp_path / "runs" / "byzantine-cfl").iterdir()
    (path / "config.toml").unlink()
    (again,) = run_cells(plan, [cell])
    assert again.values == first.values


def test_a_cell_forked_from_a_common_beginning_gives_what_a_run_from_the_start_gives(tmp_path: Path) -> None:
    plan = _plan(tmp_path, "II", "fl-hc")
    cell, seed = missing(plan)[3]
    (result,) = run_cells(plan, [(cell, seed)])
    whole = run(config_of("fl_hc", cell.config, cell.overrides, seed), out=tmp_path / "whole")
    assert result.curves["accuracy"] == [round(float(v), 6) for v in whole.facts["accuracy"]]


def test_what_is_on_disk_is_what_was_given(tmp_path: Path) -> None:
    plan = _plan(tmp_path, "Figure 1", "flic")
    results = list(run_cells(plan, missing(plan)))
    for result in results:
        path = result_path(plan.results, "flic", "smoke", result.table, result.cell, result.seed)
        assert read_result(path) == result
        assert path.stat().st_size < 50_000


def test_a_file_that_is_no_result_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "broken.json"
    path.write_text('{"paper": "flic"}')
    assert read_result(path) is None


def test_results_of_another_config_or_of_no_cell_are_not_shown(tmp_path: Path) -> None:
    plan = _plan(tmp_path, "Figure 1", "flic")
    first, second = run_cells(plan, missing(plan))
    write_result(
        plan.results, type(first)(**{**vars(first), "config_hash": "another", "curves": {"global": [1.0]}})
    )
    write_result(plan.results, type(first)(**{**vars(first), "cell": "of an older version"}))
    assert list(current_results(plan.paper, plan.results)) == [second]


def test_every_round_of_a_cell_is_told_of(tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    plan = Plan(
        PAPERS["byzantine-cfl"], "smoke", out=tmp_path, tables=("1",),
        watch=lambda cell, progress: told.append((cell.name, progress.round, progress.rounds)),
    )  # fmt: skip
    (cell, seed) = missing(plan)[0]
    list(run_cells(plan, [(cell, seed)]))
    assert told == [(cell.name, 1, 2), (cell.name, 2, 2)]


def test_cells_that_say_the_same_in_other_words_share_a_run(tmp_path: Path) -> None:
    plan = Plan(PAPERS["communities"], "smoke", out=tmp_path)
    same = ("m_k 0.7, resolution 1.0", "1nn, 100%", "normalised similarities")
    todo = [(cell, seed) for cell, seed in missing(plan) if cell.name in same]
    told: list[str] = []
    watching = Plan(plan.paper, "smoke", out=tmp_path, watch=lambda cell, progress: told.append(cell.name))
    results = {result.cell: result for result in run_cells(watching, todo)}
    assert set(results) == set(same)
    assert told == ["m_k 0.7, resolution 1.0"] * 2  # two rounds, and none for the others
    assert results[same[0]].values == results[same[1]].values
    assert len({result.config_hash for result in results.values()}) == 3
    assert not list((tmp_path / "runs" / "communities").iterdir())
    alone = next(iter(run_cells(Plan(plan.paper, "smoke", out=tmp_path / "alone"), todo[1:2])))
    assert alone.values == results["1nn, 100%"].values and alone.curves == results["1nn, 100%"].curves


def test_cells_that_find_the_same_flocks_get_what_they_would_get_alone(tmp_path: Path) -> None:
    paper = PAPERS["fl-hc"]
    alone = replace(
        paper, cells=lambda scale: [replace(cell, decides_at=None) for cell in paper.cells(scale)]
    )
    together = Plan(paper, "smoke", out=tmp_path / "together", tables=("V",))
    apart = Plan(alone, "smoke", out=tmp_path / "apart", tables=("V",))
    found = list(run_cells(together, missing(together)))
    expected = list(run_cells(apart, missing(apart)))
    assert [r.cell for r in found] == [r.cell for r in expected] and any(r.twin for r in found)
    for one, other in zip(found, expected, strict=True):
        assert (one.values, one.curves, one.arrays) == (other.values, other.curves, other.arrays)
        assert one.config_hash == other.config_hash and other.twin is None
    assert not missing(together)


def test_federated_averaging_is_read_from_a_clustered_run_that_removed_nobody(tmp_path: Path) -> None:
    plan = _plan(tmp_path / "together")
    todo = [pair for pair in missing(plan) if pair[0].name.startswith("mnist, clean")]
    clustered, plain = run_cells(plan, todo)
    assert (
        clustered.values["honest clients removed"] == 0
        and plain.twin == clustered.cell == "mnist, clean, CFL"
    )
    (alone,) = run_cells(_plan(tmp_path / "alone"), [pair for pair in todo if pair[0].twin])
    assert alone.twin is None
    assert (plain.values, plain.curves, plain.config_hash) == (alone.values, alone.curves, alone.config_hash)
    write_result(plan.results, replace(clustered, values={**clustered.values, "honest clients removed": 1.0}))
    (split,) = run_cells(plan, [pair for pair in todo if pair[0].twin])
    assert split.twin is None and split.values == alone.values
    write_result(plan.results, replace(clustered, config_hash="another"))
    (again,) = run_cells(plan, [pair for pair in todo if pair[0].twin])
    assert again.twin is None and again.values == alone.values


def test_a_cell_stopped_behind_its_decision_goes_on_to_the_same_numbers(tmp_path: Path) -> None:
    plan, whole = (
        Plan(PAPERS["fl-hc"], "smoke", out=tmp_path / n, tables=("V",)) for n in ("stopped", "whole")
    )
    todo = missing(plan)[:1]
    (expected,) = run_cells(whole, todo)
    rounds: list[int] = []
    watched = replace(plan, watch=lambda cell, progress: rounds.append(progress.round))
    decided = todo[0][0].decides_at
    assert decided is not None
    assert not list(run_cells(watched, todo, stop=lambda: bool(rounds) and rounds[-1] >= decided))
    assert rounds[-1] < whole.cells()[0].decides_at + 3
    (found,) = run_cells(plan, todo)
    assert (found.values, found.curves, found.decided) == (expected.values, expected.curves, expected.decided)
