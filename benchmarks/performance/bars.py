"""What training was to reach, and whether it does: every number is computed from the results, those missed first."""

from dataclasses import dataclass
from typing import Any

from tables import NATIVE, WHOLE, by_default, seconds, times_faster

SLOWER = {  # parts of before_after.json, in words
    "A": "rounds of A, seconds over those of bd37606",
    "B": "rounds of B, seconds over those of bd37606",
    "B, whole runs": "whole runs of B, every client tested in every round, seconds over those of bd37606",
}
OPTIMISERS = {"momentum": "momentum", "adam": "Adam"}


@dataclass(frozen=True)
class Bar:
    """Something that was to be at least, or at most, a number."""

    what: str
    wanted: float
    found: float
    unit: str
    above: bool = True

    @property
    def met(self) -> bool:
        """Whether it is."""
        return self.found >= self.wanted if self.above else self.found <= self.wanted

    @property
    def row(self) -> str:
        """A row of the table."""
        sign, met = ">=" if self.above else "<=", "met" if self.met else "**not met**"
        return f"| {met} | {self.what} | {sign} {self.wanted:g}{self.unit} | {self.found:.3g}{self.unit} |"


def bars_part(
    engine: dict[str, Any], kernels: dict[str, Any], optimisers: dict[str, Any], before: dict[str, Any]
) -> list[str]:
    """The table of bars, and where their numbers come from."""
    rows = engine["results"]
    plain, default = times_faster(rows["A"][NATIVE], rows["A"]["plain loop"]), by_default(1, 10, 1)(engine)
    mobilenet, whole = kernels["W4"]["ways"]["generic"]["speedup_median"], 1 / seconds(rows["B"][WHOLE])
    bars = [
        Bar("papers' CNN, whole rounds (A): times the plain loop", 4.5, plain, "x"),
        Bar("MobileNetV1, one client: times the usual loop", 2.5, mobilenet, "x"),
        *(
            Bar(f"{told}, {model}: CPU time over plain SGD's", 1.0, found[name]["over_sgd"], "x", above=False)
            for name, told in OPTIMISERS.items()
            for model, found in optimisers["results"].items()
        ),
        Bar("softmax regression (B), whole run with metrics, store, checkpoints", 250.0, whole, " rounds/s"),
        Bar("testing by default in 100 rounds of A, part of training", 10.0, default, " %", above=False),
        *(Bar(told, 1.0, before["parts"][part]["ratio"], "x", above=False) for part, told in SLOWER.items()),
    ]
    return [
        "## What was to be reached\n",
        "| | bar | wanted | measured |\n|---|---|---|---|\n"
        + "\n".join(bar.row for bar in sorted(bars, key=lambda bar: bar.met))
        + "\n",
        "All on a machine that did nothing else. [Rounds](#whole-rounds) and [single clients](#one-client-on-one-core) are "
        f"below. Beside an older release (`{before['command']}`, {before['date']}, {before['cpu']}, loads of "
        f"{loads(before)}): both take turns in one run; the ratio is the median over turns, the lowest and highest of which "
        f"are {spread(before)}.\n",
    ]


def before_table(before: dict[str, Any]) -> str:
    """Every part of both releases."""
    lines = [
        "| rounds | bd37606: ms | this release: ms | ratio, median of turns | accuracy of both |",
        "|---|---|---|---|---|",
    ]
    for name, part in before["parts"].items():
        took, right = part["ms_a_round"], ", ".join(f"{one:.3f}" for one in part["accuracy"].values())
        lines.append(f"| {name} | {took['before']:.2f} | {took['now']:.2f} | {part['ratio']:.3f} | {right} |")
    return "\n".join(lines)


def loads(before: dict[str, Any]) -> str:
    """The lowest and the highest."""
    found = [load for part in before["parts"].values() for load in part["load"]]
    return f"{min(found):.1f} to {max(found):.1f}"


def spread(before: dict[str, Any]) -> str:
    """Of each part's turns."""
    return "; ".join(
        f"{name}: {min(part['ratios']):.2f}, {max(part['ratios']):.2f}"
        for name, part in before["parts"].items()
    )
