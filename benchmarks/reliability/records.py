"""What is on record besides the rows' tests: fuzzing, mutants, kills of Flower's processes, a soak, memory, drop-out."""

import json
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flockwise.studies.results import results_in

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
RESULTS = HERE / "results"
sys.path.append(str(ROOT))  # the tests are a package there
from tests.reliability.fuzz.records import is_lost, pieces  # noqa: E402

LOST = "of a commit that is not in the history"


def _newest(kind: str) -> dict[str, Any]:
    found = [json.loads(path.read_text()) for path in sorted(RESULTS.glob(f"{kind}-*.json"))]
    return next((each for each in reversed(found) if not is_lost(each)), found[-1] if found else {})


def _told_if_lost(results: list[dict[str, Any]]) -> str:
    return (
        f"\n\nWhat stands here was measured with code {LOST}, and is not counted."
        if any(map(is_lost, results))
        else ""
    )


def _decoders() -> dict[str, dict[str, int]]:
    """Of each decoder the inputs since it was last found wanting, how many broke the promise, how often it was mended."""
    rows: dict[str, dict[str, int]] = {}
    for piece in pieces():
        row = rows.setdefault(piece["decoder"], {"inputs": 0, "broken": 0, "mended": 0})
        if row["broken"]:  # it was mended since, and is tried anew
            row.update(inputs=0, broken=0, mended=row["mended"] + 1)
        row["inputs"] += 0 if is_lost(piece) else piece["inputs"]
        row["broken"] += piece["broken"]
    return rows


def fuzzing() -> tuple[int, int, str]:
    """Inputs that decoders took as promised, all inputs, and a table."""
    rows = _decoders()
    total, broken = (sum(row[key] for row in rows.values()) for key in ("inputs", "broken"))
    lines = [
        f"| {name} | {row['inputs']:,} | {row['broken']:,} | {row['mended']} |"
        for name, row in sorted(rows.items())
    ]
    head = "| decoder | inputs | broke the promise | times it was mended |\n|---|---|---|---|\n"
    return total - broken, total, head + "\n".join(lines)


# A supervisor of before, which a SuperLink that died during the first submission ended; mended, and tried anew since.
MENDED = "flower_kills_without_restart.json"


def kills() -> tuple[int, int, str]:
    """Kills of parts of a Flower deployment, those after which the run ended with the same bytes, and a table.

    A trial that is in several files counts as the last of them has it; the table shows all.
    """
    lines, newest, of = [], {}, 0
    for file in sorted((ROOT / "benchmarks" / "results").glob("flower_kills*.json")):
        found = json.loads(file.read_text())
        done = {name: trial for name, trial in found["trials"].items() if trial["killed"]}
        if file.name != MENDED:
            newest.update({name: bool(trial["held"]) for name, trial in done.items()})
        of = max(of, found["of"])
        good = sum(bool(trial["held"]) for trial in done.values())
        lost = "; ".join(
            f"{name}: {' '.join(trial['error'].split())[:160] or 'not over within 15 minutes'}"
            for name, trial in done.items()
            if not trial["held"]
        )
        seconds = statistics.median(trial["seconds"] for trial in done.values())
        when = f"{found['date']}, `{found['commit'][:9]}`" if "commit" in found else found["date"]
        lines.append(f"| `{file.name}` | {good} of {len(done)} | {seconds:.0f} | {when} | {lost} |")
    held, tried = sum(newest.values()), len(newest)
    told = f"Of the matrix of {of}, {tried} were tried, and {held} held.\n\n"
    head = "| file | held | seconds of a run, median | when | what did not |\n|---|---|---|---|---|\n"
    return held, tried, told + head + "\n".join(lines)


def kills_made() -> tuple[str, str]:
    """How the newest trials were made, and when: the date and the commit."""
    found = [
        json.loads(file.read_text()) for file in (ROOT / "benchmarks" / "results").glob("flower_kills*.json")
    ]
    newest = max((each for each in found if "commit" in each), key=lambda each: str(each["date"]))
    return f"`{newest['command']}`", f"{newest['date']}, `{newest['commit'][:9]}`"


def mutation() -> tuple[int, int, str]:
    """Mutants that were noticed, of those that change anything; by file, what survived, and what changes nothing."""
    newest: dict[str, dict[str, Any]] = {}
    for path in sorted(RESULTS.glob("mutants-*.json")):
        found = json.loads(path.read_text())
        if not is_lost(found):
            newest.update({each["file"]: each for each in found["files"] if each["tried"]})
    if not newest:
        return 0, 0, "Not measured yet."
    lines = ["| file | mutants | tried | noticed | change nothing | survived |", "|---|---|---|---|---|---|"]
    for name, each in newest.items():
        same, alive = len(each["equivalent"]), len(each["survived"])
        lines.append(_row(name, each["mutants"], each["tried"], each["killed"], same, alive))
    tried = sum(each["tried"] - len(each["equivalent"]) for each in newest.values())
    killed = sum(each["killed"] for each in newest.values())
    told = f"{killed} of {tried} mutants that change anything were noticed: {100 * killed / tried:.1f} %.\n\n"
    alive = [
        f"- {name} {each_one}" for name, each in newest.items() for each_one in map(_code, each["survived"])
    ]
    same = [
        f"- {name} {_code(change)}: {why}"
        for name, each in newest.items()
        for change, why in each["equivalent"].items()
    ]
    return killed, tried, (
        told + "\n".join(lines) + ("\n\nSurvived:\n\n" + "\n".join(alive) if alive else "")
        + ("\n\nChange nothing that can be seen:\n\n" + "\n".join(same) if same else "")
    )  # fmt: skip


def _row(*cells: object) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


def _code(change: str) -> str:
    return "`" + change.replace("`", "'").replace("|", "\\|") + "`"


def load() -> tuple[int, int, str]:
    """The soak and the formula of memory."""
    soak, memory = _newest("soak"), _newest("memory")
    held = [soak["held"]] if soak and not is_lost(soak) else []
    told = ""
    if soak:
        first, last = soak["looks"][0], soak["looks"][-1]
        told = (
            f"{soak['rounds']:,} rounds of FLIC on digits in one process: {soak['mb_in_1000_rounds']} MB in 1,000 rounds "
            f"({first['mb']:.0f} MB after {first['round']:,}, {last['mb']:.0f} MB after {last['round']:,}), "
            f"{last['files']} open files, constant: {soak['files_constant']}; the run directory took "
            f"{soak['directory_mb']} MB.\n\n"
        )
    if memory:
        held += [row["held"] for row in memory["rows"] if not is_lost(memory)]
        keys = ("method", "clients", "parameters", "formula_mb", "peak_mb", "allowed_mb")
        shown = [
            _row(*(row[key] for key in keys)) for row in sorted(memory["rows"], key=lambda row: row["held"])
        ]
        head = _row("method", "clients", "parameters", "formula, MB", "peak, MB", "allowed, MB")
        told += "\n".join([head, _row(*["---"] * 6), *shown])
    lost = _told_if_lost([each for each in (soak, memory) if each])
    return sum(map(bool, held)), len(held), told.strip() + lost


def dropout() -> str:
    """Accuracy by method and share of clients that do not answer, mean and spread over seeds."""
    found: dict[str, dict[str, list[float]]] = {}
    for result in results_in(HERE / "dropout" / "results"):
        place = found.setdefault(str(result.labels["method"]), {})
        place.setdefault(str(result.labels["dropout"]), []).append(float(result.curves["accuracy"][-1]))
    if not found:
        return "Not measured yet."
    shares = sorted(
        {share for row in found.values() for share in row}, key=lambda share: float(share.split()[0])
    )
    lines = ["| method | " + " | ".join(shares) + " |", "|---" * (len(shares) + 1) + "|"]
    for method, row in found.items():
        lines.append(f"| {method} | " + " | ".join(_spread(row.get(share, [])) for share in shares) + " |")
    files = (HERE / "dropout" / "results" / "results").glob("*.json")
    return "\n".join(lines) + _told_if_lost([json.loads(file.read_text()) for file in files])


def _spread(values: list[float]) -> str:
    if not values:
        return "-"
    spread = f" ± {statistics.stdev(values):.3f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.3f}{spread} ({len(values)})"


# Records that count in a row: held, of how many, and what is told of them.
RECORDS: dict[str, Callable[[], tuple[int, int, str]]] = {
    "fuzzing": fuzzing, "kills": kills, "load": load, "mutation": mutation,
}  # fmt: skip

MILLION = 1_000_000
# Numbers on record that count for what was asked.
COUNTED: dict[str, Callable[[], int]] = {
    "kills": lambda: kills()[1],
    "decoders": lambda: sum(row["inputs"] >= MILLION and not row["broken"] for row in _decoders().values()),
}
