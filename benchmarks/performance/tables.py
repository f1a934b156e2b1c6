"""Tables of what engine.py measured, and its targets: every number is computed from the results."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import median
from typing import Any

Rows = dict[str, dict[str, Any]]
NATIVE, WHOLE = "ours, native path", "ours, whole run with metrics and store"
TESTED = "ours, whole run, every client tested every round"
ALONE = f"{NATIVE}, one worker"
SCALING = ("scaling", "scaling A")  # parts that compare one worker with two


def _median(values: Iterable[float]) -> float:
    return float(median(values))


def seconds(row: dict[str, Any]) -> float:
    """Median over all rounds."""
    return _median(value for turn in row["turns"] for value in turn)


def times_faster(row: dict[str, Any], base: dict[str, Any]) -> float:
    """How much faster than another way: the median over turns, each beside the other's turn."""
    return _median(_median(b) / _median(a) for a, b in zip(row["turns"], base["turns"], strict=True))


def best_other(rows: Rows) -> str:
    """The fastest way that is not ours."""
    return min((name for name in rows if not name.startswith("ours")), key=lambda name: seconds(rows[name]))


@dataclass(frozen=True)
class Target:
    """What we want to reach, if anything; `value` raises KeyError or ValueError where it was not measured."""

    name: str
    limit: float | None
    above: bool
    unit: str
    value: Callable[[dict[str, Any]], float]

    def row(self, found: dict[str, Any]) -> str:
        """A row of the table."""
        sign = ">=" if self.above else "<="
        wanted = "-" if self.limit is None else f"{sign} {self.limit:g}{self.unit}"
        try:
            value = self.value(found)
        except (KeyError, ValueError, StopIteration):
            return f"| {self.name} | {wanted} | not measured | - |"
        if self.limit is None:
            reached = "-"
        else:
            reached = "yes" if (value >= self.limit if self.above else value <= self.limit) else "no"
        return f"| {self.name} | {wanted} | {value:.3g}{self.unit} | {reached} |"


def _against_best(part: str) -> Callable[[dict[str, Any]], float]:
    def value(found: dict[str, Any]) -> float:
        rows = found["results"][part]
        return times_faster(rows[NATIVE], rows[best_other(rows)])

    return value


def _against_plain(found: dict[str, Any]) -> float:
    rows = found["results"]["A"]
    return times_faster(rows[NATIVE], rows["plain loop"])


def _scaling(part: str) -> Callable[[dict[str, Any]], float]:
    def value(found: dict[str, Any]) -> float:
        rows = found["results"][part]
        return times_faster(rows[NATIVE], rows[ALONE])

    return value


def _evaluation(flocks: int, trained: int, epochs: int) -> Callable[[dict[str, Any]], float]:
    return lambda found: 100 * share(_case(found, flocks, trained, epochs), "all")


def by_default(flocks: int, trained: int, epochs: int) -> Callable[[dict[str, Any]], float]:
    """Testing as a part of training, in as many rounds as are tested where nobody says."""

    def value(found: dict[str, Any]) -> float:
        case = _case(found, flocks, trained, epochs)
        return 100 * share(case, "all") / float(case["tested_every"])

    return value


def _case(found: dict[str, Any], *wanted: int) -> dict[str, Any]:
    cases: list[dict[str, Any]] = found["evaluation"]
    return next(case for case in cases if (case["flocks"], case["trained_clients"], case["epochs"]) == wanted)


def share(case: dict[str, Any], changed: str) -> float:
    """Seconds of testing as a part of those of training, round by round; the median."""
    return _median(
        test / train for test, train in zip(case["seconds"][changed], case["seconds"]["train"], strict=True)
    )


TARGETS = (
    Target("A: native path against the plain loop", 4.5, True, "x", _against_plain),
    Target("A: native path against the fastest other way", 2.8, True, "x", _against_best("A")),
    Target(
        "A: start-up, without the first round itself", 3.0, False, " s",
        lambda found: found["results"]["A"][NATIVE]["startup"] - seconds(found["results"]["A"][NATIVE]),
    ),
    Target("two workers against one, 10 clients with 5 epochs", 1.9, True, "x", _scaling("scaling")),
    Target("the same in A's shorter rounds (1 epoch)", None, True, "x", _scaling("scaling A")),
    Target("B: train and aggregate against the fastest other way", 6.0, True, "x", _against_best("B")),
    Target(
        "B: whole run with metrics, store and checkpoints", 250.0, True, " rounds/s",
        lambda found: 1 / seconds(found["results"]["B"][WHOLE]),
    ),
    Target(
        "the same, every client tested every round", None, True, " rounds/s",
        lambda found: 1 / seconds(found["results"]["B"][TESTED]),
    ),
    Target("testing 100 clients, part of a round of 10 clients with 5 epochs", 10.0, False, " %", _evaluation(1, 10, 5)),
    Target("the same with 5 flocks", 10.0, False, " %", _evaluation(5, 10, 5)),
    Target("the same, part of a round of 100 clients with 1 epoch", 10.0, False, " %", _evaluation(1, 100, 1)),
    Target("the same, part of A's round (10 clients, 1 epoch)", None, False, " %", _evaluation(1, 10, 1)),
    Target("testing by default in 100 rounds of A, part of training", 10.0, False, " %", by_default(1, 10, 1)),
    Target(
        "A: peak memory of `flockwise run`", 2.5, False, " GB",
        lambda found: max(run["pss"] for run in found["memory"].values()) / 1e9,
    ),
)  # fmt: skip


def targets_table(found: dict[str, Any]) -> str:
    """Targets, what was measured, and whether that is enough."""
    rows = [target.row(found) for target in TARGETS]
    return "\n".join(["| what | target | measured | reached |", "|---|---|---|---|", *rows])


def rounds_table(rows: Rows) -> str:
    """Every way of a workload."""
    lines = [
        "| way | s a round | rounds/s | x plain loop | CPU s a round | start-up s | samples a round | accuracy |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for way, row in rows.items():
        ratio = f"{times_faster(row, rows['plain loop']):.2f}" if "plain loop" in rows else "-"
        cpu = row["cpu"] / sum(map(len, row["turns"]))
        lines.append(
            f"| {way} | {seconds(row):.4f} | {1 / seconds(row):.2f} | {ratio} | {cpu:.4f} | "
            f"{row['startup']:.1f} | {row['samples'] / row['rounds']:.0f} | {row['accuracy']:.3f} |"
        )
    return "\n".join(lines)


def costs_table(found: dict[str, Any]) -> str:
    """Testing and memory."""
    parts = []
    if "evaluation" in found:
        parts += [
            "| flocks | clients trained | epochs | train s | test all s | part of training | one flock changed s "
            "| nothing changed s |",
            "|---|---|---|---|---|---|---|---|",
        ]
        for case in found["evaluation"]:
            took = {name: _median(values) for name, values in case["seconds"].items()}
            parts.append(
                f"| {case['flocks']} | {case['trained_clients']} | {case['epochs']} | {took['train']:.3f} | "
                f"{took['all']:.3f} | {100 * share(case, 'all'):.1f} % | {took['one flock']:.3f} | {took['nothing']:.4f} |"
            )
        parts.append("")
    if "memory" in found:
        parts += ["| `flockwise run` | peak PSS GB | sum of RSS GB | processes |", "|---|---|---|---|"]
        for name, run in found["memory"].items():
            parts.append(
                f"| {name} | {run['pss'] / 1e9:.2f} | {run['rss'] / 1e9:.2f} | {run['processes']:.0f} |"
            )
    return "\n".join(parts)
