"""The API reference names everything public, and the pages that answer questions lead somewhere."""

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

import flockwise

ROOT = Path(__file__).parents[2]


def test_every_public_name_is_in_the_reference() -> None:
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        import api_reference
    finally:
        sys.path.remove(str(ROOT / "docs"))
    page = api_reference.page()
    named = {name for name in flockwise.__all__ if not isinstance(getattr(flockwise, name), ModuleType)}
    assert (
        set(api_reference.api_examples.EXAMPLES) == named
    )  # each has an example, which the page's test runs
    assert page == api_reference.page() and not re.search(
        r"0x[0-9a-f]{6,}", page
    )  # the same on every machine
    for name in flockwise.__all__:
        wanted = f"## flockwise.{name}" if name in api_reference.MODULES else f"### `fw.{name}"
        assert wanted in page or name in ("aggregation", "clustering", "stages", "strategies"), name


@pytest.mark.parametrize("page", ["README.md", "faq.md", "which-method.md", "months.md", "results.md"])
def test_links_lead_to_pages(page: str) -> None:
    text = (ROOT / "docs" / page).read_text()
    for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        if not link.startswith("http"):
            assert (ROOT / "docs" / link).exists(), link


def test_every_page_is_linked_from_a_page_of_contents() -> None:
    contents = (ROOT / "README.md").read_text().replace("(docs/", "(") + (
        ROOT / "docs" / "README.md"
    ).read_text()
    lonely = [
        page.name
        for page in (ROOT / "docs").glob("*.md")
        if page.name != "README.md" and f"({page.name})" not in contents
    ]
    assert lonely == []
