"""The pages about papers: one for each, and one with all verdicts."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from flockwise.papers.cells import Paper
from flockwise.papers.current import current_results
from flockwise.papers.results import Result
from flockwise.papers.verdicts import (
    BETTER,
    MISSED,
    NOT_RUN,
    REACHED,
    SHOWN,
    UNDEFINED,
    Row,
    claim_verdicts,
    rows_of,
)

_HOW_TO = (
    "## Run them yourself", "",
    "```", "flockwise data get mnist", "flockwise paper mini-fl --table 4 --scale full --seeds 3", "```", "",
    "- `--scale smoke` runs every cell on the embedded digits in seconds, `short` is the reduction described on each page, "
    "`full` the paper's setting.",
    "- A finished cell is a small JSON file in `papers/results/NAME/SCALE/TABLE` with its numbers, seed, config "
    "hash, versions, date, "
    "duration and the `flockwise run` command that does the same by hand. Cells that have one are skipped; a result whose "
    "cell has another config by now is neither counted nor shown, and is made again.",
    "- Ctrl-C stops after the current round; the same command goes on from there.",
    "- Rounds that cells have in common are trained once and forked from.",
    "- The configs come with the package, in `flockwise/papers/NAME/*.toml`; cells say what they change in them.",
    "- `--list` shows what is missing, `--page-only` writes the pages without running anything, `--pages docs/papers` is "
    "how the pages here were made.",
)  # fmt: skip
_ORDER = (REACHED, BETTER, MISSED, NOT_RUN, SHOWN, UNDEFINED)


def write_page(paper: Paper, results: Path, pages: Path) -> Path:
    """Write a paper's page and its figures, from the results on disk."""
    found = list(current_results(paper, results))
    pages.mkdir(parents=True, exist_ok=True)
    figures = _figures(paper, found, pages)
    path = pages / f"{paper.name}.md"
    path.write_text(page(paper, found, figures), encoding="utf-8")
    return path


def page(paper: Paper, found: Sequence[Result], figures: Sequence[tuple[str, str]] = ()) -> str:
    """A paper's page as Markdown; `figures` are (title, file) pairs."""
    full = rows_of(paper.cells("full"), found, "full")
    short = rows_of(paper.cells("short"), found, "short")
    parts = [
        f"# {paper.title}", "",
        f"Made by `flockwise paper {paper.name}` from the files in `papers/results/{paper.name}/`. "
        "Within one point of the published accuracy, or better: reached. Numbers after ± are 95 % confidence "
        "intervals of the mean over seeds; without one there was a single seed.", "",
        *_summary(paper, full), "",
    ]  # fmt: skip
    for heading, text in (
        ("How open settings were read", paper.reading),
        ("What ours does not share with the paper", paper.notes),
        ("Scales", paper.scales),
    ):
        parts += [f"## {heading}", "", text.strip(), ""] if text else []
    if figures:
        parts += ["## Figures", ""]
        parts += [f"![{title}]({file})\n" for title, file in figures]
    parts += ["## The paper's setting (`--scale full`)", "", *_tables(full, verdicts=True)]
    if any(row.values for row in short):
        parts += ["## Reduced (`--scale short`), without verdicts", "", *_tables(short, verdicts=False)]
    return "\n".join(parts).rstrip() + "\n"


def overview(papers: Sequence[Paper], results: Path, folder: str = "papers") -> str:
    """All verdicts in one table; the pages lie in `folder` beside it."""
    parts = [
        "# The papers' tables, measured", "",
        "Every cell of the tables and figures of five papers is an ordinary run of Flockwise. "
        "`flockwise paper NAME` runs those that are missing and writes the pages below. Verdicts are of `--scale full` "
        "only: within one point of the published accuracy, or better, is reached; a count or a purity must be exactly "
        "the published one. Nothing is left out because it looks bad; what has not been run says so.", "",
        "A number that is more than a point better is counted apart: for a baseline under attack it may only mean that "
        "our attack is weaker than theirs.", "",
        f"| paper | table | {' | '.join(_ORDER)} |", "|---" * (2 + len(_ORDER)) + "|",
    ]  # fmt: skip
    claims = []
    for paper in papers:
        full = rows_of(paper.cells("full"), current_results(paper, results), "full")
        for table in dict.fromkeys(row.cell.table for row in full):
            counts = Counter(row.verdict for row in full if row.cell.table == table)
            numbers = " | ".join(str(counts[name]) for name in _ORDER)
            parts.append(f"| [{paper.title}]({folder}/{paper.name}.md) | {table} | {numbers} |")
        claims += [(paper.title, text, verdict) for text, verdict in claim_verdicts(paper, full)]
    parts += ["", "A row counts numbers: a cell may have several.", "", "## What the papers say in words", "",
              "Where it says so, a claim is judged on the cells that have been run.", ""]  # fmt: skip
    parts += ["| paper | claim | verdict |", "|---|---|---|"]
    parts += [f"| {title} | {text} | {verdict} |" for title, text, verdict in claims]
    return "\n".join([*parts, "", *_HOW_TO, ""])


def _summary(paper: Paper, rows: Sequence[Row]) -> list[str]:
    counts = Counter(row.verdict for row in rows)
    lines = [", ".join(f"{counts[name]} {name}" for name in _ORDER if counts[name]) + "."]
    claims = claim_verdicts(paper, list(rows))
    if claims:
        lines += ["", "| claim | verdict |", "|---|---|"]
        lines += [f"| {text} | {verdict} |" for text, verdict in claims]
    return lines


def _tables(rows: Sequence[Row], verdicts: bool) -> list[str]:
    parts = []
    for table in dict.fromkeys(row.cell.table for row in rows):
        mine = [row for row in rows if row.cell.table == table and (verdicts or row.values)]
        if not mine:
            continue
        last = " verdict |" if verdicts else ""
        parts += [f"### {_heading(table)}", "", f"| cell | number | published | ours | difference | seeds |{last}",
                  "|---|---|---|---|---|---|" + ("---|" if verdicts else "")]  # fmt: skip
        for cell in dict.fromkeys(row.cell.name for row in mine):
            parts += _lines([row for row in mine if row.cell.name == cell], verdicts)
        parts.append("")
    return parts


def _heading(table: str) -> str:
    return table if table[:1].isalpha() and " " in table else f"Table {table}"


def _lines(rows: Sequence[Row], verdicts: bool) -> list[str]:
    """A line for each number of a cell; a single one where nothing has been run."""
    if any(row.verdict != NOT_RUN for row in rows):
        return [_line(row, verdicts) for row in rows]
    names = "; ".join(row.measure.name for row in rows)
    published = "; ".join(_published(row) or "-" for row in rows) if any(map(_published, rows)) else ""
    return [f"| {rows[0].cell.name} | {names} | {published} | | | | {NOT_RUN} |"]


def _line(row: Row, verdicts: bool) -> str:
    ours = "" if row.mean is None else _number(row.mean, row.measure.kind)
    if row.half_width is not None:
        ours += f" ± {_number(row.half_width, row.measure.kind)}"
    difference = "" if row.difference is None else f"{row.difference:+.4g}"
    last = f" {row.verdict} |" if verdicts else ""
    return (
        f"| {row.cell.name} | {row.measure.name} | {_published(row)} | {ours} | {difference} "
        f"| {len(row.values) or ''} |{last}"
    )


def _published(row: Row) -> str:
    return "" if row.measure.published is None else _number(row.measure.published, row.measure.kind)


def _number(value: float, kind: str) -> str:
    """Percent to two digits, also beside a ten; counts and the like as they are."""
    return f"{value:.2f}" if kind == "percent" and abs(value) >= 10 else f"{value:.3g}"


def _figures(paper: Paper, found: Sequence[Result], pages: Path) -> list[tuple[str, str]]:
    """Draw what can be drawn, from the largest scale that has the results."""
    drawn = []
    for figure in paper.figures:
        for scale in ("full", "short"):
            content = figure.draw([result for result in found if result.scale == scale])
            if content is None:
                continue
            file = pages / paper.name / f"{figure.name}.svg"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content, encoding="utf-8")
            note = "" if scale == "full" else " (reduced scale)"
            drawn.append((figure.title + note, f"{paper.name}/{figure.name}.svg"))
            break
    return drawn
