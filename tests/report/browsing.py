"""A real browser for tests: Debian's chromium (apt-get install chromium), driven by Playwright."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


def unavailable(reason: str) -> None:
    """Skip, but not in CI, where a missing browser must not pass for a working page."""
    if os.environ.get("CI"):
        pytest.fail(f"{reason}; CI must have it")
    pytest.skip(reason)


@pytest.fixture(scope="module")
def chromium() -> Iterator[object]:
    """One browser for a module; closed with it, because Playwright leaves its event loop running until then."""
    program = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)
    if program is None:
        unavailable("no chromium found (apt-get install chromium)")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        unavailable("playwright is not installed (pip install playwright)")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def opened(
    chromium,
    url: str,
    width: int = 1300,
    dark: bool = False,
    own: str = "file:",
    ready: bool = True,
    told: str = "none",
):
    """A page on which nothing may go wrong: no message on the console but those that hold `told`, no request to anywhere
    else."""
    context = chromium.new_context(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if dark else "light",
        accept_downloads=True,
    )
    page = context.new_page()
    trouble: list[str] = []
    page.on(
        "console",
        lambda message: trouble.append(message.text) if message.type in ("error", "warning") else None,
    )
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("dialog", lambda dialog: (trouble.append("a dialog opened"), dialog.dismiss()))
    page.on(
        "request", lambda r: trouble.append(r.url) if not r.url.startswith((own, "data:", "blob:")) else None
    )
    try:
        page.goto(url)
        if ready:
            page.wait_for_selector("html[data-ready=yes]")
        yield page
        assert [text for text in trouble if told not in text] == []
    finally:
        context.close()


COLOURS = """id => {
  const seen = new Set();
  for (const canvas of document.querySelectorAll(`#${id} canvas`)) {
    const cells = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    for (let i = 0; i < cells.length; i += 4) if (cells[i + 3]) seen.add(cells[i] << 16 | cells[i + 1] << 8 | cells[i + 2]);
  }
  return seen.size;
}"""


def colours(page, card: str) -> int:
    """How many colours the pictures of a card have: an empty chart has but those of its axes."""
    return page.evaluate(COLOURS, card)


def points(page, card: str) -> int:
    """How many data points a chart holds."""
    return page.evaluate(
        "id => flockwise.cards.get(id).chart.getModel().getSeries().reduce((n, s) => n + s.getData().count(), 0)",
        card,
    )
