"""Run the tests behind the promises and keep the counts: `make reliability`.

    python benchmarks/reliability/run.py [--rows 1,11] [--times 20] [--only TEST] [--again]

Each row is a file in results/, written when the row is done, so that a stop loses one row at most; rows that have a
result of this commit and of as many examples are skipped, unless --again. A result is never edited: another run is
another file. `--only` tries one of a row's tests again, because it was mended or with more cases: standing.py.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import Any

import numpy as np

from flockwise.studies.surroundings import surroundings

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
RESULTS = HERE / "results"


def rows() -> list[dict[str, Any]]:
    """The rows as the file has them, numbered from 1."""
    found = tomllib.loads((HERE / "rows.toml").read_text())["row"]
    return [{"row": number, **row} for number, row in enumerate(found, start=1)]


def results() -> list[dict[str, Any]]:
    """All counts on record, in the order they were made."""
    found = [json.loads(path.read_text()) for path in RESULTS.glob("row-*.json")]
    return sorted(found, key=lambda result: (result["row"], result["date"]))


def run(row: dict[str, Any], times: int, only: str = "") -> dict[str, Any]:
    """Run a row's tests, or only one of them, and count."""
    with tempfile.TemporaryDirectory() as folder:
        tally = Path(folder) / "tally.json"
        command = [
            sys.executable, "-m", "pytest", "-q", "-p", "tally", "-p", "no:cacheprovider", "--tally", str(tally),
            "--times", str(times), "--only", only, "-m", "", *row["tests"],
        ]  # fmt: skip
        began = time.perf_counter()
        path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
        subprocess.run(
            command, cwd=ROOT, env={**os.environ, "PYTHONPATH": path}, capture_output=True, check=False
        )
        counts = json.loads(tally.read_text()) if tally.exists() else {}
    tried = {name: one for name, one in counts.items() if one["outcome"] not in ("skipped", "not run")}
    return {
        "row": row["row"], "times": times, "only": only,
        "total": sum(one["cases"] for one in tried.values()),
        "passed": sum(one["cases"] for one in tried.values() if one["outcome"] == "passed"),
        "failed": sorted(name for name, one in tried.items() if one["outcome"] != "passed"),
        "skipped": sorted(name for name, one in counts.items() if one["outcome"] == "skipped"),
        "cases": _by_test(tried), "measured": _measured(tried),
        "seconds": round(time.perf_counter() - began, 1),
        "command": " ".join(["python benchmarks/reliability/run.py", *words_of(row["row"], times, only)]),
        **surroundings(1),
    }  # fmt: skip


def words_of(row: int, times: int, only: str) -> list[str]:
    """What makes this command try the same again."""
    return ["--rows", str(row), "--times", str(times), *(["--only", only] if only else [])]


def _by_test(tried: dict[str, dict[str, Any]]) -> dict[str, int]:
    """The cases of each test, all its parameters together."""
    counts: dict[str, int] = {}
    for name, one in tried.items():
        test = name.partition("[")[0]
        counts[test] = counts.get(test, 0) + one["cases"]
    return counts


def _measured(tried: dict[str, dict[str, Any]]) -> dict[str, dict[str, float]]:
    """What tests have measured: how often, the median, what 95 of 100 stay below, and the most."""
    values: dict[str, list[float]] = {}
    for one in tried.values():
        for what, found in one.get("measured", {}).items():
            values.setdefault(what, []).extend(found)
    return {
        what: {
            "n": len(found), "median": round(float(np.median(found)), 3), "p95": round(float(np.quantile(found, 0.95)), 3),
            "most": round(max(found), 3),
        }
        for what, found in values.items()
    }  # fmt: skip


def main() -> int:
    """Run what is missing; the number of rows with a failure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", default="", help="only these, such as 1,11")
    parser.add_argument("--times", type=int, default=1, help="as many examples as usual; 20 for a release")
    parser.add_argument("--only", default="", help="only this test of the row, with all its parameters")
    parser.add_argument("--again", action="store_true")
    chosen = parser.parse_args()
    wanted = {int(number) for number in chosen.rows.split(",") if number}
    done = {(found["row"], found["times"], found.get("only", ""), found["commit"]) for found in results()}
    commit, wrong = surroundings(1)["commit"], 0
    RESULTS.mkdir(exist_ok=True)
    for row in rows():
        if wanted and row["row"] not in wanted:
            continue
        if (row["row"], chosen.times, chosen.only, commit) in done and not chosen.again:
            continue
        found = run(row, chosen.times, chosen.only)
        if not found["cases"] and not found["skipped"]:
            raise SystemExit(
                f"row {row['row']}: no test was tried; --only takes a test's name without its file"
            )
        stamp = found["date"].replace(":", "").replace("-", "")
        (RESULTS / f"row-{row['row']:02}-{stamp}.json").write_text(json.dumps(found, indent=1) + "\n")
        wrong += found["passed"] != found["total"] or not found["total"]
        print(
            f"{row['row']:2}  {found['passed']}/{found['total']}  {row['threat']}  ({found['seconds']} s)",
            flush=True,
        )
    return wrong


if __name__ == "__main__":
    sys.exit(min(main(), 1))
