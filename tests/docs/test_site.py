"""The docs as a site: every link leads somewhere, and search and navigation find pages in a browser."""

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def _builder() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_site", ROOT / "docs" / "site" / "build.py")
    assert spec and spec.loader
    module = sys.modules["build_site"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("site")
    assert _builder().build(where) >= 70
    return where


def test_no_link_of_any_page_leads_nowhere() -> None:
    builder = _builder()
    assert builder.faults(builder.pages()) == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[x](nowhere.md)", "docs/new.md: nowhere.md: leads nowhere"),
        ("![x](images/none.png)", "docs/new.md: images/none.png: leads nowhere"),
        ("[x](months.md#nothing)", "docs/new.md: months.md#nothing: no heading of docs/months.md has this anchor"),
        ("# A\n\n[x](#b)", "docs/new.md: #b: no heading of docs/new.md has this anchor"),
        ("# A b!\n\n[x](#a-b) [y](https://example.org/nothing) [z](methods/) [r](../README.md#measured)", None),
    ],
)  # fmt: skip
def test_a_link_that_leads_nowhere_is_named(text: str, told: str | None) -> None:
    builder = _builder()
    found = {**builder.pages(), "docs/new.md": builder.Page.read("docs/new.md", text)}
    assert builder.faults(found) == ([told] if told else [])


def test_links_of_the_site_lead_to_its_own_files(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    for page in pages:
        for link in re.findall(r'(?:href|src)="([^"]+)"', page.read_text()):
            path, _, anchor = link.partition("#")
            if re.match("[a-z]+:", link):
                continue
            there = (page.parent / path).resolve() if path else page
            assert there.is_file() and there.is_relative_to(site), f"{page.relative_to(site)}: {link}"
            assert not anchor or f'id="{anchor}"' in there.read_text(), f"{page.relative_to(site)}: {link}"


def test_every_page_has_the_navigation_of_the_page_of_contents(site: Path) -> None:
    page = (site / "docs" / "methods" / "flic.html").read_text()
    for link in ("../months.html", "../api.html", "index.html", "../../README.html"):
        assert f'href="{link}"' in page
    assert 'href="months.html" aria-current="page"' in (site / "docs" / "months.html").read_text()


def test_search_and_menu_work_in_a_browser_on_desktop_and_phone(site: Path, chromium: Any) -> None:
    wrong: list[str] = []
    for width, phone in ((1300, False), (390, True)):
        page = chromium.new_page(viewport={"width": width, "height": 800})
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto((site / "docs" / "README.html").as_uri())
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width
        if phone:
            assert not page.is_visible("nav")
            page.click("summary")
        assert page.is_visible("nav a >> text=Month after month")
        if phone:
            page.click("summary")
        page.fill("#search", "newcomers flock validation")
        assert page.locator("#found a").count() >= 1
        page.fill("#search", "zzzz-nothing")
        assert page.inner_text("#found") == "No page has all of these words."
        page.fill("#search", "month after month")
        page.press("#search", "Enter")
        page.wait_for_url("**/months.html*")
        page.close()
    assert wrong == []
