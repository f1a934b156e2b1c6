"""What a study's file may say, and what it means."""

import pytest

from flockwise.errors import ConfigError
from flockwise.studies.cells import cells_of, round_of
from flockwise.studies.file import read_study
from flockwise.studies.reading import check_numbers

SMALL = {"rounds": 4, "split": {"name": "label_swap", "clients": 10, "groups": 2}}


def study(**more):
    return read_study({"base": SMALL, **more})


def test_cells_are_all_combinations_with_every_seed():
    found = cells_of(
        study(
            vary={"split.groups": [1, 2], "method": {"mean": {}, "flic": {"strategy": {"name": "flic"}}}},
            seeds=3,
        )
    )
    assert len(found) == 12 and len({(cell.name, cell.seed) for cell in found}) == 12
    assert [cell.name for cell in found[:4]] == ["1, mean", "1, flic", "2, mean", "2, flic"]
    assert found[1].config.split.parameters["groups"] == 1 and found[1].config.strategy.name == "flic"


def test_another_strategy_brings_its_own_options():
    base = {**SMALL, "strategy": {"name": "flic", "warmup": 2}}
    vary = {"strategy.name": ["flic", "ifca"], "rule": {"own": {"strategy": {"flocks": 3}}}}
    found = cells_of(read_study({"base": base, "vary": vary, "skip": [{"strategy.name": "flic"}]}))
    assert not found[0].error and found[0].config.strategy.parameters["flocks"] == 3
    assert "warmup" not in found[0].config.strategy.parameters


def test_cells_are_left_out_and_adjusted_where_conditions_say_so():
    vary = {"split.clients": [10, 20], "rule": {"mean": {}, "krum": {"aggregation": {"name": "krum"}}}}
    found = cells_of(
        study(
            vary=vary,
            skip=[{"split.clients": 20, "rule": ["krum"]}],
            adjust=[{"where": {"rule": "krum"}, "set": {"aggregation": {"attackers": 2}}}],
        )
    )
    assert [cell.name for cell in found] == ["10, mean", "10, krum", "20, mean"]
    assert found[1].config.aggregation.attackers == 2 and found[0].config.aggregation.attackers == 0


def test_a_scale_changes_the_base_and_can_be_a_condition():
    file = study(
        vary={"split.groups": [1, 2]},
        scales={"smoke": {"rounds": 2}},
        skip=[{"scale": "smoke", "split.groups": 2}],
    )
    assert [(cell.name, cell.config.rounds) for cell in cells_of(file)] == [("1", 4), ("2", 4)]
    assert [(cell.name, cell.config.rounds) for cell in cells_of(file, "smoke")] == [("1", 2)]
    with pytest.raises(ConfigError, match="scale = 'full': this study has no such scale; there are smoke"):
        cells_of(file, "full")


def test_a_config_that_cannot_be_run_is_a_cell_with_its_error():
    found = cells_of(
        study(vary={"rule": {"mean": {}, "krum": {"aggregation": {"name": "krum", "attackers": 9}}}})
    )
    assert not found[0].error and "krum needs" in found[1].error


def test_tables_inherit_what_the_study_says():
    file = read_study(
        {
            "base": SMALL, "seeds": 2, "numbers": {"end": {"of": "ari"}},
            "tables": {"I": {"vary": {"split.groups": [1, 2]}}, "II": {"base": {"rounds": 9}, "seeds": [7]}},
        }
    )  # fmt: skip
    found = cells_of(file)
    assert [(c.table, c.name, c.seed) for c in found if c.table == "II"] == [("II", "the run", 7)]
    assert len(found) == 5 and file.every_table()["II"].numbers["end"].of == "ari"


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ({"vary": {"rule": {}}}, "vary.rule: is empty"),
        ({"vary": {"seed": [1, 2]}}, "vary.seed: cannot be an axis"),
        ({"skip": [{"nothing": 1}]}, "skip.nothing: no such axis"),
        (
            {"vary": {"rounds": [1]}, "show": {"rows": "attack"}},
            "show.rows = 'attack': no such axis; there are rounds",
        ),
        ({"vary": {"rounds": [1]}, "show": {"worst": "attack"}}, "show.worst = 'attack': no such axis"),
        ({"seeds": [1, 1]}, "a seed counts once"),
        ({"vari": {}}, "vari = {}: unknown key"),
        (
            {"tables": {"I": {}}, "tune": {"search": {"rounds": [1, 2]}, "table": "II"}},
            "tune.table = 'II': no such table; there are I",
        ),
    ],
)
def test_mistakes_are_told_before_anything_runs(content, line):
    with pytest.raises(ConfigError) as told:
        study(**content)
    assert line in str(told.value)


def test_an_unknown_number_is_told_with_the_nearest():
    with pytest.raises(ConfigError, match="unknown number; did you mean"):
        check_numbers(study(show={"numbers": ["acuracy"]}))
    with pytest.raises(ConfigError, match=r"numbers.early.target: is needed by rounds_to_target"):
        check_numbers(study(numbers={"early": {"of": "rounds_to_target"}}, show={"numbers": ["early"]}))


def test_a_round_can_be_a_field_of_the_config():
    content = {"strategy": {"warmup": 30}, "rounds": 40}
    assert round_of("strategy.warmup - 1", content) == 29 and round_of("rounds", content) == 40
    assert round_of("strategy.warmup+5", content) == 35
    for wrong in ("strategy.nothing", "strategy", "1 + 1", "rounds * 2", "__import__('os')"):
        with pytest.raises(ConfigError, match="must be a round"):
            round_of(wrong, content)


def test_a_file_that_is_no_study_is_one_line(tmp_path):
    (tmp_path / "broken.toml").write_text("seeds = [")
    with pytest.raises(ConfigError, match=r"broken.toml: not valid TOML"):
        read_study(tmp_path / "broken.toml")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_study(tmp_path / "nothing.toml")


def test_axes_at_the_top_are_those_of_every_table():
    found = study(vary={"rounds": [1, 2]}, tables={"I": {"vary": {"seed2": {"a": {}}}}, "II": {}})
    axes = {name: list(table.vary) for name, table in found.every_table().items()}
    assert axes == {"I": ["rounds", "seed2"], "II": ["rounds"]}
