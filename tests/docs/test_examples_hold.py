"""What pages say of their own examples holds, at the examples' full length."""

import re
import tomllib
from pathlib import Path

import pytest

import flockwise as fw

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_fl_hc_finds_the_three_groups_of_its_own_example(seed: int, tmp_path: Path) -> None:
    page = (DOCS / "methods" / "fl-hc.md").read_text(encoding="utf-8")
    (block,) = re.findall("```toml\n(.*?)```", page, re.DOTALL)
    assert (
        "with seeds 0, 1\n  and 2, `rounds_before` of 3, 5 or 8 cuts one group of four in two in one seed each, 10 in none"
        in page
    )
    run = fw.run(tomllib.loads(block), seed=seed, out=tmp_path / "run")
    assert len(run.flocks) == 3 and run.facts["ari"][-1] == 1.0


def test_the_page_says_that_flower_leaves_a_superlink_behind() -> None:
    """Flower starts it, and only Flower could end it: the user has to know."""
    page = " ".join((DOCS / "flower.md").read_text(encoding="utf-8").split())
    assert "leaves it running for the next time: end the `flower-superlink` among your processes" in page
