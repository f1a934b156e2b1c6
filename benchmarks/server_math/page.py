"""The measured server math as lines of text and as a part of the documentation page."""

from pathlib import Path
from typing import Any

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
HEADER = (
    "operation", "updates", "C++ ms", "NumPy ms", "flwr ms", "byzfl ms", "scipy ms",
    "vs flwr", "vs byzfl", "vs scipy", "read ms", "of read",
)  # fmt: skip
WIDTHS = (18, 16, *[9] * 10)


def ours(line: dict[str, Any]) -> float:
    """The path that users get: C++ where it could be compiled."""
    return float(line["native"] or line["numpy"])


def cells(line: dict[str, Any]) -> list[str]:
    """One line of the table."""
    columns = ("native", "numpy", "flwr", "byzfl", "scipy")
    peers = [f"{line[peer] / ours(line):.1f}x" if line[peer] else "-" for peer in columns[2:]]
    return [
        line["operation"],
        f"{line['clients']} x {line['parameters']:,}",
        *(f"{line[column]:.1f}" if line[column] else "-" for column in columns),
        *peers,
        f"{line['limit']:.1f}",
        f"{ours(line) / line['limit']:.1f}x",
    ]


def text(entries: list[str] | tuple[str, ...]) -> str:
    """One line for the terminal."""
    return "  ".join(cell.rjust(width) for cell, width in zip(entries, WIDTHS, strict=True))


def measured(report: dict[str, Any]) -> str:
    """The generated part of the page."""
    where = report["machine"]
    rows = ["| " + " | ".join(cells(line)) + " |" for line in report["lines"]]
    return "\n".join([
        BEGIN, "", f"`{report['command']}`", "",
        f"{report['date']}, {where['cpu']}, {where['cores']} cores, NumPy {where['numpy']}, flwr {where['flwr']}, byzfl "
        f"{where['byzfl']}, kernels: {where['kernels']}. Load average {where['load']} at the start, {where['load_at_end']} "
        f"at the end. Each time is the least of {report['runs']} runs ({5 * report['runs']} of what is quick), ours and "
        "the peers' in turn.", "",
        "| " + " | ".join(HEADER) + " |", "|" + "---|" * len(HEADER), *rows, "", END,
    ])  # fmt: skip


def write(page: Path, report: dict[str, Any]) -> None:
    """Put the generated part into the page and leave the rest of it alone."""
    old = page.read_text() if page.exists() else f"# Server math: measured\n\n{BEGIN}\n{END}\n"
    if BEGIN not in old or END not in old:
        raise SystemExit(f"{page}: has no {BEGIN} and {END} to write between")
    before, after = old.split(BEGIN)[0], old.split(END)[1]
    page.write_text(before + measured(report) + after)
