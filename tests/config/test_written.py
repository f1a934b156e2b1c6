"""The config of a run holds every resolved value: what a default becomes later cannot change a run that is resumed."""

import inspect
import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomli_w

import flockwise
from flockwise.aggregation import PRE_AGGREGATIONS, RULES
from flockwise.attacks import ATTACKS
from flockwise.clustering import CLUSTERERS
from flockwise.config import Config, load_config, parse_config
from flockwise.config.reading import with_settings
from flockwise.config.template import template
from flockwise.errors import ConfigError
from flockwise.models import MODELS
from flockwise.notes import OptionsOf
from flockwise.options import NOT_SET, noted, options_of
from flockwise.registry import Piece
from flockwise.runs.recorded_config import recorded
from flockwise.splits import SPLITS
from flockwise.strategies import STRATEGIES
from tests.runs.small import FLIC, fingerprint

SMALL = {**FLIC, "strategy": {"name": "flic", "warmup": 4}}


def options_in_a_config(piece: Piece) -> dict[str, Any]:
    return {name: value for name, value in (piece.example or {}).items() if name not in piece.given}


def nones(content: Any) -> bool:
    if isinstance(content, dict):
        return any(map(nones, content.values()))
    return any(map(nones, content)) if isinstance(content, list) else content is None


def same_after_toml(config: Config, path: Path) -> Config:
    path.write_text(tomli_w.dumps(config.written()))
    assert tomllib.loads(path.read_text()) == config.written()
    return load_config(path)


@pytest.mark.parametrize("name", list(STRATEGIES))
def test_every_template_is_written_in_full_and_read_back_as_the_same_config(
    name: str, tmp_path: Path
) -> None:
    (tmp_path / "t.toml").write_text(template(name))
    config = load_config(tmp_path / "t.toml")
    content = config.written()
    assert not nones(content)
    assert set(content) == set(Config.model_fields)
    assert set(content["strategy"]) == {"name", *STRATEGIES[name].options.model_fields}
    assert set(content["split"]) >= {
        "name",
        "clients",
        "validation",
        *_options(SPLITS, content["split"]["name"]),
    }
    assert set(content["aggregation"]) == {
        "name", "attackers", "before", *RULES[content["aggregation"]["name"]].options.model_fields,
    }  # fmt: skip
    read = same_after_toml(config, tmp_path / "written.toml")
    assert read == config and read.written() == content
    assert parse_config(content) == config


def _options(pieces: Any, name: str) -> set[str]:
    return set(pieces[name].options.model_fields)


@pytest.mark.parametrize("name", list(STRATEGIES))
def test_what_is_none_is_written_in_words(name: str, tmp_path: Path) -> None:
    config = parse_config({"strategy": {"name": name}, "gate": {"weight_cap": NOT_SET}})
    content = config.written()
    assert content["gate"] == {"max_norm": NOT_SET, "weight_cap": NOT_SET} and config.gate.weight_cap is None
    assert content["data"]["directory"] == NOT_SET and content["engine"]["superlink"] == NOT_SET
    for option, default in STRATEGIES[name].defaults.items():
        if default is None:
            assert content["strategy"][option] == NOT_SET and config.strategy.parameters[option] is None
    assert same_after_toml(config, tmp_path / "written.toml") == config


@pytest.mark.parametrize(
    ("section", "piece"),
    [("aggregation", piece) for piece in RULES.values()]
    + [("attack", piece) for piece in ATTACKS.values()]
    + [("split", piece) for piece in SPLITS.values() if piece.example is not None],
    ids=lambda value: getattr(value, "name", value),
)
def test_the_options_of_every_piece_are_written_in_full(section: str, piece: Piece, tmp_path: Path) -> None:
    more = {"attack": {"clients": 2}, "split": {"clients": 10}}.get(section, {})
    content = {section: {"name": piece.name, **more, **options_in_a_config(piece)}, "root": {"samples": 20}}
    config = parse_config(content)
    assert set(config.written()[section]) >= {"name", *piece.options.model_fields}
    assert same_after_toml(config, tmp_path / "written.toml") == config


@pytest.mark.parametrize("name", list(PRE_AGGREGATIONS))
def test_the_options_of_pre_aggregations_are_written_in_full(name: str, tmp_path: Path) -> None:
    config = parse_config({"aggregation": {"name": "median", "before": [name]}})
    (step,) = config.written()["aggregation"]["before"]
    assert set(step) == {"name", *PRE_AGGREGATIONS[name].options.model_fields}
    assert same_after_toml(config, tmp_path / "written.toml") == config


def test_the_file_in_a_run_directory_is_the_written_config(tmp_path: Path) -> None:
    flockwise.run({**SMALL, "rounds": 1}, out=tmp_path / "run")
    content = tomllib.loads((tmp_path / "run" / "config.toml").read_text())
    assert content == parse_config({**SMALL, "rounds": 1}).written()
    assert content["strategy"]["refine"] == 3.0 and content["strategy"]["max_age"] == NOT_SET


def with_other_defaults(piece: Piece, monkeypatch: pytest.MonkeyPatch, **defaults: Any) -> None:
    """As if a later version had other defaults."""
    function = piece.function.__init__ if isinstance(piece.function, type) else piece.function
    positional = [
        p for p in inspect.signature(function).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD
    ]
    changed = tuple(defaults.get(p.name, p.default) for p in positional if p.default is not p.empty)
    monkeypatch.setattr(function, "__defaults__", changed)
    monkeypatch.setattr(function, "__kwdefaults__", {**(function.__kwdefaults__ or {}), **defaults})
    options_of.cache_clear()


def test_a_default_that_changes_later_does_not_change_a_run_that_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = {**FLIC, "strategy": {"name": "flic", "warmup": 4}, "aggregation": {"name": "trimmed-mean"}}
    flockwise.run(content, out=tmp_path / "whole")
    for where in ("stopped", "anew"):
        seen = iter([False, True])
        flockwise.run(content, out=tmp_path / where, stop=lambda seen=seen: next(seen, False))
    with_other_defaults(STRATEGIES["flic"], monkeypatch, min_separation=1e9, refine=None, resolution=50.0)
    with_other_defaults(RULES["trimmed-mean"], monkeypatch, trim=0.45)
    assert parse_config(content).strategy.parameters["min_separation"] == 1e9, "the defaults are others now"
    assert flockwise.resume(tmp_path / "stopped").state == "finished"
    assert fingerprint(tmp_path / "stopped") == fingerprint(tmp_path / "whole")
    flockwise.run(content, out=tmp_path / "later")
    assert fingerprint(tmp_path / "later") != fingerprint(tmp_path / "whole"), "a new run takes the new ones"


WITHIN: dict[str, tuple[dict[str, Any], Piece, dict[str, Any]]] = {
    "a strategy inside another": (
        {"strategy": {"name": "ditto", "flocks": {"name": "flic", "warmup": 2}}},
        STRATEGIES["flic"], {"min_separation": 1e9, "refine": None},
    ),
    "a strategy inside another, by its name alone": (
        {"strategy": {"name": "apfl", "flocks": "cfl"}}, STRATEGIES["cfl"], {"threshold": 0.9, "cohesion": -1.0},
    ),
    "a clusterer": (
        {"strategy": {"name": "custom", "first": 2, "clustering": "agglomerative"}},
        CLUSTERERS["agglomerative"], {"flocks": 4},
    ),
    "a clusterer of a strategy inside another": (
        {"strategy": {"name": "ditto", "flocks": {"name": "custom", "first": 2}}},
        CLUSTERERS["louvain"], {"resolution": 50.0},
    ),
    "a model of another": (
        {"strategy": {"name": "fedem"}, "model": {"name": "mixture", "of": "mlp"}}, MODELS["mlp"], {"hidden": 7},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WITHIN)
def test_a_default_of_a_piece_inside_another_does_not_change_a_run_that_is_resumed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said, piece, others = WITHIN[name]
    content = {**FLIC, "rounds": 4, **said}
    flockwise.run(content, out=tmp_path / "whole")
    seen = iter([False, True])
    flockwise.run(content, out=tmp_path / "stopped", stop=lambda: next(seen, False))
    written = tomllib.loads((tmp_path / "stopped" / "config.toml").read_text())
    with_other_defaults(piece, monkeypatch, **others)
    assert parse_config(content).written() != written, "the defaults are others now"
    assert parse_config(written).written() == written
    assert flockwise.resume(tmp_path / "stopped").state == "finished"
    assert fingerprint(tmp_path / "stopped") == fingerprint(tmp_path / "whole")


@pytest.mark.parametrize(
    "name", [name for name, piece in STRATEGIES.items() if noted(piece.function, OptionsOf)]
)
def test_options_of_options_are_written_in_full(name: str, tmp_path: Path) -> None:
    for option, note in noted(STRATEGIES[name].function, OptionsOf):
        for inner in STRATEGIES if note.of == "strategies" else CLUSTERERS:
            said = {option: inner} if note.of == "strategies" else {note.of: inner}
            try:
                config = parse_config({"strategy": {"name": name, **said}, "root": {"samples": 20}})
            except ConfigError:
                continue  # a pair that does not go together
            held = config.written()["strategy"][option]
            known = STRATEGIES[inner].options if note.of == "strategies" else note.cases()[inner]
            assert set(held) - {"name"} == set(known.model_fields) - {"seed"}  # a seed is the run's
            assert same_after_toml(config, tmp_path / "written.toml") == config


def test_another_piece_forgets_what_was_said_of_the_one_before() -> None:
    content = parse_config({"strategy": {"name": "fedper", "flocks": "flic"}}).written()
    there = parse_config(
        content, ["strategy.flocks.name=fl-hc", "strategy.flocks.repeat=5"]
    ).strategy.parameters
    assert there["flocks"]["name"] == "fl-hc" and there["flocks"]["repeat"] == 5
    content = parse_config({"strategy": {"name": "custom"}}).written()
    said = ["strategy.clustering_parameters.flocks=3", "strategy.clustering=agglomerative"]
    assert parse_config(content, said).strategy.parameters["clustering_parameters"]["flocks"] == 3
    mixed = with_settings(content, {"strategy": {"clustering": "leiden"}})
    assert parse_config(mixed).strategy.parameters["clustering"] == "leiden"
    assert parse_config({**content, "name": "before"}, ["name=after"]).name == "after"


def test_a_users_own_clusterer_is_written_in_full(tmp_path: Path) -> None:
    (tmp_path / "mine_near.py").write_text(
        "def near(similarity, reach: float = 0.5, most=None):\n    return [0] * len(similarity)\n"
    )
    said = {
        "strategy": {"name": "custom", "clustering": "mine_near:near", "clustering_parameters": {"reach": 2}}
    }
    config = parse_config(said, directory=tmp_path)
    assert config.written()["strategy"]["clustering_parameters"] == {"reach": 2.0, "most": NOT_SET}
    assert parse_config(config.written(), directory=tmp_path) == config


def test_what_counted_for_nothing_in_an_older_run_does_not_stop_it() -> None:
    content = {"strategy": {"name": "custom", "when": "never"}}
    written = parse_config(content).written()
    written["strategy"] |= {"census": True, "every": 4}  # as releases up to 0.2 took it
    with pytest.raises(ConfigError, match=r"strategy.every = 4: does nothing with when = 'never'"):
        parse_config(written)
    assert parse_config(recorded(written, None)) == parse_config(content)
    inner = {"strategy": {"name": "fedper", "flocks": written["strategy"]}}
    assert "census" not in recorded(inner, None)["strategy"]["flocks"]


@pytest.fixture(autouse=True)
def _no_options_of_another_default() -> Any:
    yield
    options_of.cache_clear()


OWN = """
from flockwise import Method
from flockwise.stages import average, chain, train


def plain(rule, first=None, factor=2.0, anything="x"):
    assert first is None, repr(first)
    return Method(chain(train(), average(rule)))


def kind(updates, low: int = None, high=None):
    assert low is None and high is None, repr((low, high))
    return updates.mean(axis=0)
"""


def test_a_function_without_types_is_called_with_the_same_when_its_run_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "untyped.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    content = {**FLIC, "strategy": {"name": "untyped:plain"}, "aggregation": {"name": "untyped:kind"}}
    seen = iter([True])
    run = flockwise.run(content, out=tmp_path / "run", stop=lambda: next(seen, False))
    assert run.config["strategy"] == {
        "name": "untyped:plain",
        "first": NOT_SET,
        "factor": 2.0,
        "anything": "x",
    }
    assert {run.config["aggregation"][name] for name in ("low", "high")} == {NOT_SET}
    assert flockwise.resume(tmp_path / "run").state == "finished"
