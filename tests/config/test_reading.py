import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flockwise.config import load_config, parse_config, schema
from flockwise.config.template import template
from flockwise.errors import ConfigError
from flockwise.strategies import STRATEGIES

SCHEMA = Path(__file__).parents[2] / "docs" / "config.schema.json"
VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=True), st.text(max_size=8),
    st.lists(st.integers(), max_size=3), st.dictionaries(st.text(max_size=5), st.integers(), max_size=2),
)  # fmt: skip
KEYS = st.sampled_from(
    ["name", "seed", "rounds", "data", "split", "model", "training", "sampling", "strategy", "aggregation", "attack",
     "faults", "gate", "root", "evaluation", "checkpoint", "engine", "nonsense"]
)  # fmt: skip
FIELDS = st.sampled_from(
    ["name", "clients", "epochs", "fraction", "every", "at", "before", "attackers", "x", "groups"]
)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(KEYS, st.one_of(VALUES, st.dictionaries(FIELDS, VALUES, max_size=4)), max_size=4))
def test_any_config_is_taken_or_refused_with_a_field_and_never_crashes(content: dict[str, object]) -> None:
    try:
        parse_config(content)
    except ConfigError as error:
        for line in str(error).splitlines():
            assert line.split(" ")[0].rstrip(":")


@pytest.mark.parametrize("section", ["data", "split", "strategy", "aggregation"])
def test_a_key_with_control_characters_stays_on_one_line(section: str) -> None:
    with pytest.raises(ConfigError) as error:
        parse_config({section: {"a\r\nb": 0}})
    assert len(str(error.value).splitlines()) == 1


def test_a_config_survives_being_written_and_read_back(tmp_path: Path) -> None:
    import tomli_w

    config = parse_config(
        {"rounds": 3, "strategy": {"name": "flic", "warmup": 2}, "split": {"name": "rotation", "groups": 4}}
    )
    (tmp_path / "c.toml").write_text(tomli_w.dumps(config.model_dump(mode="json", exclude_none=True)))
    assert load_config(tmp_path / "c.toml") == config


def test_several_mistakes_are_all_reported() -> None:
    with pytest.raises(ConfigError) as error:
        parse_config({"rounds": 0, "training": {"epochs": "many", "batchsize": 1}})
    text = str(error.value)
    assert "rounds = 0" in text
    assert "training.epochs = 'many'" in text
    assert "training.batchsize = 1: unknown key; did you mean 'batch_size'?" in text


def test_momentum_does_not_go_with_adam() -> None:
    parse_config({"training": {"optimizer": "adam", "learning_rate": 0.001}})
    with pytest.raises(ConfigError, match=r"training\.momentum = 0\.9: .* leave it out"):
        parse_config({"training": {"optimizer": "adam", "momentum": 0.9}})
    with pytest.raises(ConfigError, match=r"training\.optimizer = 'lion'"):
        parse_config({"training": {"optimizer": "lion"}})


@pytest.mark.parametrize("strategy", list(STRATEGIES))
def test_every_template_is_valid(strategy: str, tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text(template(strategy))
    assert load_config(tmp_path / "t.toml").strategy.name == strategy


def test_overrides_reach_into_sections_and_keep_types() -> None:
    config = parse_config(
        {"attack": {"name": "reverse"}},
        ["training.epochs=4", "data.name=digits", "attack.clients=[1,2]", "strategy.name=fedavg"],
    )
    assert config.training.epochs == 4
    assert config.attack.clients == [1, 2]


def test_the_published_schema_is_up_to_date() -> None:
    assert json.loads(SCHEMA.read_text()) == schema(), "run `make docs`"


def aggregation(**fields: object) -> object:
    return parse_config({"split": {"clients": 10}, "aggregation": fields})


def test_a_rules_own_parameters_decide_how_many_clients_it_needs() -> None:
    aggregation(name="trimmed-mean", attackers=2, trim=0.2)
    with pytest.raises(ConfigError, match="trimmed-mean needs 20 clients"):
        aggregation(name="trimmed-mean", attackers=2, trim=0.1)
    aggregation(name="krum", attackers=4, strict=False)
    with pytest.raises(ConfigError, match="krum needs 11 clients"):
        aggregation(name="krum", attackers=4)
    with pytest.raises(ConfigError, match="multi-krum needs 12 clients"):
        aggregation(name="multi-krum", attackers=1, m=12)


@pytest.mark.parametrize(
    "fields, message",
    [({"name": "multi-krum", "attackers": 1, "m": "many"}, "aggregation.m = 'many': must be a whole number"),
     ({"name": "multi-krum", "attackers": 1, "m": 0}, "aggregation.m = 0: must be at least 1"),
     ({"name": "trimmed-mean", "trim": 0.5}, "aggregation.trim = 0.5: must be below 0.5"),
     ({"name": "krum", "attackers": 1, "strict": "no"}, "aggregation.strict = 'no': must be true or false"),
     ({"before": [{"name": "bucketing", "s": 0}]}, "aggregation.before.s = 0: must be at least 1"),
     ({"before": [{"name": "bucketing", "size": 3}]}, "aggregation.before.size = 3: unknown key"),
     ({"before": ["buckets"]}, "no 'buckets'"),
     ({"before": [{"s": 3}]}, "aggregation.before")],
)  # fmt: skip
def test_a_rules_parameters_are_checked_before_the_run(fields: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        aggregation(**fields)


def test_what_comes_before_a_rule_may_leave_it_too_few_updates() -> None:
    aggregation(name="krum", attackers=1, before=["bucketing"])
    with pytest.raises(
        ConfigError, match=r"only 10 take part, of which aggregation\.before makes 4; lower it"
    ):
        aggregation(name="krum", attackers=1, before=[{"name": "bucketing", "s": 3}])


@pytest.mark.parametrize("name", ["norm-bound", "centered-clipping"])
def test_a_parameter_without_a_default_must_be_given(name: str) -> None:
    with pytest.raises(ConfigError, match=f"aggregation.radius: is needed by {name}"):
        aggregation(name=name)
    aggregation(name=name, radius=1.0)


def test_an_attack_needs_attackers() -> None:
    with pytest.raises(ConfigError, match=r"attack\.clients = 0: nobody would attack"):
        parse_config({"attack": {"name": "label-flip"}})


def test_a_template_says_what_words_a_field_takes() -> None:
    assert '"this-round" | "latest-updates" | "latest-models" | "metadata"' in template("custom")


def test_the_templates_of_methods_for_attacked_clients_have_attackers() -> None:
    assert 'name = "label-to"' in template("byzantine-cfl") and "scale = 100.0" in template("mini-fl")


@pytest.mark.parametrize(
    "field",
    ["checkpoint.every=0", "attack.clients=inf", "attack.clients=nan", "aggregation.attackers=inf", "gate.weight_cap=inf",
     "model.name=':x'", "model.name='..x:y'", f"seed={'9' * 5000}"],
)  # fmt: skip
def test_what_cannot_be_run_is_refused_in_words(field: str) -> None:
    with pytest.raises(ConfigError):
        parse_config({"attack": {"name": "label-flip", "clients": 2}}, [field])


@pytest.mark.parametrize("digits", [17, 5000])
def test_a_number_without_end_is_named(tmp_path: Path, digits: int) -> None:
    (tmp_path / "c.toml").write_text(f"seed = 0x{'f' * digits}\n")
    with pytest.raises(ConfigError, match=rf"^seed = a number of {4 * digits} bits: must fit into 64"):
        load_config(tmp_path / "c.toml")


def test_a_strict_mean_is_refused_when_it_is_read() -> None:
    with pytest.raises(ConfigError, match=r"aggregation\.strict"):
        parse_config({"aggregation": {"name": "mean", "strict": True}})


def test_attackers_without_an_attack_are_refused() -> None:
    with pytest.raises(
        ConfigError, match=r"attack.clients = 5: nobody attacks; say how with attack.name, or leave it out"
    ):
        parse_config({"attack": {"name": "none", "clients": 5}})


def test_a_written_config_takes_another_strategy_by_name() -> None:
    """`flockwise new flic` writes every option of flic; with another strategy's name they are no mistakes of the user's."""
    written = tomllib.loads(template("flic"))
    assert parse_config(written, ["strategy.name=ifca"]).strategy.name == "ifca"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            {
                "strategy": {"name": "ditto", "flocks": {"name": "flic", "judge": "validation"}},
                "split": {"validation": 0},
            },
            "split.validation = 0: strategy.flocks.judge = 'validation' asks clients for validation data",
        ),
        (
            {"strategy": {"name": "ditto", "flocks": {"name": "flic", "judge": "root"}}},
            "root.samples = 0: strategy.flocks.judge = 'root' needs clean data on the server, such as 100",
        ),
        (
            {
                "strategy": {"name": "ditto", "flocks": {"name": "ifca", "flocks": 9}},
                "split": {"clients": 5},
            },
            "strategy.flocks.flocks = 9: must be at most split.clients = 5",
        ),
        (
            {"split": {"name": "rotation", "clients": 3, "groups": 4}},
            "split.groups = 4: must be at most split.clients = 3",
        ),
    ],
)
def test_what_options_need_of_the_config_is_asked_of_strategies_inside_others_too(
    content: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=f"^{re.escape(message)}"):
        parse_config(content)


def test_methods_inside_methods_without_end_are_refused_in_a_line() -> None:
    flocks: dict[str, Any] | str = "flic"
    for _ in range(60):
        flocks = {"name": "ditto", "flocks": flocks}
    with pytest.raises(ConfigError, match="a method may be inside another, but not so deep") as error:
        parse_config({"strategy": {"name": "ditto", "flocks": flocks}})
    assert len(str(error.value)) < 300
