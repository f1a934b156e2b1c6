"""How large the report of a million clients is, and how long a browser takes to open it.

    python benchmarks/scale/report_opening.py --json benchmarks/results/report_opening.json

The run is made up: a million clients, 40 rounds, 20 flocks (`tests/report/test_crowd_report.py`). Chromium without a window
(apt-get install chromium; pip install playwright) opens the file several times, each time in a fresh context. By the clock,
from the start of the navigation: first paint with something on it, DOMContentLoaded, and ready, when all that is on the
first screen is drawn. And the processor time of the page's main thread until then, which other work changes little.

The bar, set before: under 10 MB; ready in 2 s by the clock on an idle machine. On a busy one only the processor time says
anything.
"""

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.report.browsing import FLAGS  # noqa: E402
from tests.report.test_crowd_report import synthetic_run  # noqa: E402

from flockwise.report import write_report  # noqa: E402

CLOCK = """() => ({
  paint: performance.getEntriesByName('first-contentful-paint')[0]?.startTime,
  content: performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd,
})"""


def opened(browser: Any, page_url: str) -> dict[str, float]:
    """One opening, in seconds."""
    context = browser.new_context(viewport={"width": 1300, "height": 900})
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(page_url)
    page.wait_for_selector("html[data-ready=yes]", timeout=120_000)
    ready = page.evaluate("() => performance.now()")
    told = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    clock = page.evaluate(CLOCK)
    context.close()
    return {
        "paint": clock["paint"] / 1000, "content": clock["content"] / 1000, "ready": ready / 1000,
        "cpu": told["TaskDuration"],
    }  # fmt: skip


def main() -> None:
    """Measure, and keep it in a new file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clients", type=int, default=1_000_000)
    parser.add_argument("--times", type=int, default=7)
    parser.add_argument("--json", type=Path, required=True)
    given = parser.parse_args()
    program = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        synthetic_run(Path(folder) / "run", given.clients, rounds=40)
        report = write_report([Path(folder) / "run"])
        before = os.getloadavg()[0]
        browser = driver.chromium.launch(executable_path=program, args=FLAGS)
        times = [opened(browser, report.as_uri()) for _ in range(given.times)]
        found = {
            "clients": given.clients, "report_bytes": report.stat().st_size,
            "record_bytes": (Path(folder) / "run" / "run.sqlite").stat().st_size, "openings": times,
            "median": {name: statistics.median(one[name] for one in times) for name in times[0]},
            "lowest": {name: min(one[name] for one in times) for name in times[0]},
            "machine": {"cores": os.cpu_count(), "load_before": before, "load_after": os.getloadavg()[0]},
        }  # fmt: skip
        browser.close()
    print(json.dumps(found, indent=1))
    given.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
