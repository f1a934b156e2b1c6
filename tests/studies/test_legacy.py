"""Results of the older format: they stand by the hash of what their config said."""

import json
from pathlib import Path
from typing import Any

from flockwise.studies.cells import cells_of
from flockwise.studies.file import read_study
from flockwise.studies.legacy import older_results, said_hashes
from flockwise.studies.results import current, results_in

CONTENT: dict[str, Any] = {
    "rounds": 3, "data": {"name": "digits"}, "split": {"name": "iid", "clients": 4}, "model": {"name": "softmax"},
}  # fmt: skip


def _study(**base: Any) -> Any:
    return read_study({"name": "s", "tables": {"t": {"base": {**CONTENT, **base}, "cell": "a"}}})


def _older(folder: Path, **more: Any) -> Path:
    content = {
        "paper": "s", "table": "t", "cell": "a", "scale": "", "seed": 0, "values": {"old": 1.0},
        "config_hash": min(said_hashes(CONTENT, 0, None)), "date": "2020-01-01T00:00:00Z", **more,
    }  # fmt: skip
    path = folder / f"{len(list(folder.glob('*.json')))}.json"
    path.write_text(json.dumps(content))
    return path


def test_one_stands_for_the_cell_that_says_the_same_and_counts_as_a_result(tmp_path: Path) -> None:
    _older(tmp_path)
    cells = cells_of(_study())
    (found,) = older_results(tmp_path, cells, {"old": "new"})
    assert found.values == {"new": 1.0} and found.commit == "unknown" and found.key == ("t", "a", 0)
    assert current([found], cells) == [found]
    assert not list(results_in(tmp_path))  # it is not taken for a result of today


def test_another_config_seed_or_fork_does_not_stand(tmp_path: Path) -> None:
    _older(tmp_path)
    assert not list(older_results(tmp_path, cells_of(_study(rounds=4))))
    _older(tmp_path, config_hash=min(said_hashes(CONTENT, 0, 2)))
    _older(tmp_path, seed=1)
    assert len(list(older_results(tmp_path, cells_of(_study())))) == 1


def test_where_data_lie_and_how_many_workers_train_makes_no_difference() -> None:
    assert said_hashes({**CONTENT, "engine": {"workers": 2}, "name": "x"}, 0, None) == said_hashes(
        CONTENT, 0, None
    )
    placed = {**CONTENT, "data": {"name": "digits", "directory": "/somewhere"}}
    assert said_hashes(placed, 0, None) == said_hashes(CONTENT, 0, None)


def test_a_file_that_is_no_result_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"paper": "flic"}')
    (tmp_path / "y.json").write_text("[]")
    (tmp_path / "z.json").write_text("{")
    assert not list(older_results(tmp_path, cells_of(_study())))


def test_a_cell_that_moved_to_another_table_is_found_by_its_hash(tmp_path: Path) -> None:
    _older(tmp_path, table="once elsewhere")
    (found,) = older_results(tmp_path, cells_of(_study()))
    assert found.table == "t"


def test_a_test_every_round_was_the_default_and_need_not_have_been_said() -> None:
    said = {**CONTENT, "evaluation": {"every": 1}}
    assert said_hashes(CONTENT, 0, None) < said_hashes(said, 0, None)
    assert not said_hashes(CONTENT, 0, None) & said_hashes({**CONTENT, "evaluation": {"every": 2}}, 0, None)
