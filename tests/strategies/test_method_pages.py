"""The configs in the documentation are real: each is read, checked and played."""

import json
import re
import tomllib
from pathlib import Path

import pytest
from tests.strategies.playing import play

from flockwise.config import parse_config
from flockwise.strategies import STRATEGIES

PAGES = Path(__file__).parents[2] / "docs" / "methods"


def config_of(name):
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```toml\n(.*?)```", text, flags=re.DOTALL)
    return tomllib.loads(block)


# A new strategy needs none: docs/pieces.md has its options, and what its file says.
WITH_A_PAGE = sorted(page.stem for page in PAGES.glob("*.md"))


def test_every_page_is_that_of_a_strategy():
    assert len(WITH_A_PAGE) >= 29 and set(WITH_A_PAGE) <= set(STRATEGIES)


@pytest.mark.parametrize("name", WITH_A_PAGE)
def test_the_config_on_the_page_runs(name):
    content = config_of(name)
    assert parse_config(content).strategy.name == name
    game = play(**{**content, "rounds": 2, "engine": {"workers": 1}})
    assert game.server.round == 2


@pytest.mark.parametrize("name", WITH_A_PAGE)
def test_a_page_says_what_a_reader_must_know(name):
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    for part in ("The choices", "The config", "When to use it", "What it assumes", "Where we differ"):
        assert f"## {part}" in text


TABLE = (PAGES.parent / "public-code.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", WITH_A_PAGE)
def test_the_table_of_public_code_has_every_method(name):
    assert TABLE.count(f"[{name}](methods/{name}.md)") == 1


@pytest.mark.parametrize(
    "kept", sorted((Path(__file__).parent / "published").glob("*.json")), ids=lambda kept: kept.stem
)
def test_what_published_code_gave_is_in_the_table_with_its_commit(kept):
    sources = re.findall(r"github\.com/(\S+) at ([0-9a-f]{40})", json.loads(kept.read_text())["source"])
    assert sources
    for repository, commit in sources:
        assert f"{repository} `{commit[:7]}`" in TABLE
