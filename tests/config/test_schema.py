"""The JSON schema says what the reader says: editors that use it neither miss nor invent mistakes."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from flockwise.config import parse_config, schema
from flockwise.config.template import template
from flockwise.strategies import STRATEGIES

SCHEMA = Draft202012Validator(schema())


def test_the_schema_is_a_schema() -> None:
    Draft202012Validator.check_schema(schema())
    json.dumps(schema(), allow_nan=False)


@pytest.mark.parametrize("name", STRATEGIES)
def test_templates_and_resolved_configs_are_valid(name: str) -> None:
    content = tomllib.loads(template(name))
    assert not list(SCHEMA.iter_errors(content))
    assert not list(SCHEMA.iter_errors(parse_config(content).written()))


@pytest.mark.parametrize(
    "content",
    [
        {"strategy": {"name": "flic", "wurmup": 3}},
        {"strategy": {"name": "flic", "warmup": 0}},
        {"strategy": {"name": "flic", "flocks": 3}},
        {"strategy": {"name": "no such"}},
        {"strategy": {"name": "fedper", "flocks": {"name": "flic", "wurmup": 3}}},
        {"strategy": {"name": "fedper", "flocks": 3}},
        {"strategy": {"name": "custom", "clustering_parameters": {"linkage": "average"}}},
        {
            "strategy": {
                "name": "custom",
                "clustering": "agglomerative",
                "clustering_parameters": {"linkage": "no"},
            }
        },
        {
            "strategy": {
                "name": "custom",
                "clustering": "bipartition",
                "clustering_parameters": {"measure": "l2"},
            }
        },
        {"model": {"name": "mixture", "of": {"name": "mlp", "hiden": 3}}},
        {"aggregation": {"name": "trimmed-mean", "trim": 0.7}},
        {"aggregation": {"name": "mean", "strict": True}},
        {"attack": {"name": "reverse", "size": 2}},
        {"split": {"name": "label_swap", "grups": 2}},
        {"rounds": "many"},
        {"nonsense": {}},
    ],
)
def test_mistakes_are_seen(content: dict[str, Any]) -> None:
    assert list(SCHEMA.iter_errors(content))


@pytest.mark.parametrize(
    "content",
    [
        {"strategy": {"name": "fedper", "flocks": "flic"}},
        {
            "strategy": {
                "name": "fedper",
                "flocks": {"name": "custom", "clustering_parameters": {"starts": 2}},
            }
        },
        {
            "strategy": {
                "name": "custom",
                "clustering": "agglomerative",
                "clustering_parameters": {"flocks": 2},
            }
        },
        {
            "strategy": {
                "name": "custom",
                "clustering": "bipartition",
                "clustering_parameters": {"eps1": "none"},
            }
        },
        {"model": {"name": "mixture", "of": {"name": "mlp", "hidden": 3}}},
    ],
)
def test_options_of_pieces_inside_others_are_known(content: dict[str, Any]) -> None:
    assert not list(SCHEMA.iter_errors(content))
    assert not list(SCHEMA.iter_errors(parse_config(content).written()))


def test_a_piece_of_ones_own_may_have_any_option() -> None:
    assert not list(SCHEMA.iter_errors({"strategy": {"name": "mine:method", "anything": [1, 2]}}))


def test_the_published_schema_is_this_one() -> None:
    assert json.loads((Path(__file__).parents[2] / "docs" / "config.schema.json").read_text()) == schema()
