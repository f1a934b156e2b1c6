"""Write the tables and pictures of docs/federations.md from the results that lie here.

    python benchmarks/federations/page.py

Runs nothing. `NAME-defaults.toml` has its results in `NAME/results`, `examples/federations/NAME.toml` in
`short/NAME/results`. A table whose cells have not all been run says which; what was replaced is shown beside what stands.
"""

import json
import re
from pathlib import Path

import numpy as np

from flockwise.studies.figures import curves, seeds
from flockwise.studies.handle import Study
from flockwise.studies.showing import digits_of, entry_text
from flockwise.studies.table import StudyTable
from flockwise.studies.writers.markdown import markdown_table

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PAGE = ROOT / "docs" / "federations.md"
VERSIONS = {
    "first": "compared courses",
    "second": "looked for hidden kinds and had own steps",
}  # of Shepherd, replaced
KINDS = ("keyboards", "arms", "meters")
MARK = re.compile(r"(<!-- made: ([a-z ]+) -->\n)(?:(?!<!--).)*(<!-- end of what is made -->)", re.DOTALL)
WRAPS = {"best": "**", "tied": "*", "": ""}
SHORT = {  # the columns of the table in short, by the rows of the others
    "one model": "one model (FedAvg)", "own models": "own models", "FLIC": "flocks (FLIC)", "FL+HC": "flocks (FL+HC)",
    "Shepherd": "flocks (Shepherd)", "oracle": "oracle flocks",
}  # fmt: skip


def as_they_come(kind: str) -> StudyTable:
    """Every method without an option, on all data."""
    return _table(HERE / f"{kind}-defaults.toml", HERE / kind)


def shorter(kind: str) -> StudyTable:
    """The study of examples/federations, with the options that are said there."""
    return _table(ROOT / "examples" / "federations" / f"{kind}.toml", HERE / "short" / kind)


def _table(file: Path, out: Path) -> StudyTable:
    (table,) = Study(file, out=out).tables()
    return table


def parts() -> dict[str, str]:
    """What stands between each pair of marks."""
    found = {"in short": in_short()}
    for kind in KINDS:
        found[kind] = rows_of(as_they_come(kind))
        found[f"{kind} before"] = before(kind)
        found[f"{kind} shorter"] = rows_of(shorter(kind))
    return found


def in_short() -> str:
    """A row a federation: the first number of its table."""
    lines = ["| | " + " | ".join(SHORT) + " |", "|---|" + "---:|" * len(SHORT)]
    for kind in KINDS:
        table = as_they_come(kind)
        entries = {labels[0]: row[0] for labels, row in zip(table.rows, table.entries, strict=True)}
        column = table.columns[0]
        cells = []
        for row in SHORT.values():
            wrap = WRAPS[entries[row].mark]
            cells.append(f"{wrap}{entry_text(entries[row], digits_of(table, 0))}{wrap}")
        better = table.numbers[column.number].direction
        lines.append(f"| {kind}, {column.title} ({better} is better) | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def rows_of(table: StudyTable) -> str:
    """The table without its title and notes; how many cells it lacks, if it lacks any."""
    text = markdown_table(table).split("\n\n")[1]
    if not table.missing:
        return text
    told = f"{len(table.missing)} of {len(table.cells)} cells have not been run"
    if len(table.missing) == len(table.cells):
        return f"None of its {len(table.cells)} cells has a result here."
    return f"{text}\n\n{told}."


def before(kind: str) -> str:
    """What Shepherd gave before it was changed, each time."""
    return "\n\n".join(_version(kind, version, when) for version, when in VERSIONS.items())


def _version(kind: str, version: str, when: str) -> str:
    files = sorted((HERE / kind / "replaced" / version / "results").glob("*.json"))
    ends = [
        {name: curve[-1] for name, curve in json.loads(file.read_text(encoding="utf-8"))["curves"].items()}
        for file in files
    ]
    columns = as_they_come(kind).columns
    means = ", ".join(f"{each.title} {np.mean([end[each.number] for end in ends]):.3g}" for each in columns)
    some = "1 seed" if len(ends) == 1 else f"{len(ends)} seeds"
    where = f"benchmarks/federations/{kind}/replaced/{version}"
    return f"Shepherd before it {when} ({some}, in `{where}`): {means}."


def pictures() -> dict[str, str]:
    """The pictures of the page, by file name."""
    found = {}
    for kind in KINDS:
        for name, table, draw in (
            (f"{kind}-defaults", as_they_come(kind), seeds), (kind, shorter(kind), curves),
        ):  # fmt: skip
            figure = None if table.missing else draw(table)
            if figure is not None:
                found[f"federation-{name}.svg"] = figure.picture().svg()
    return found


def filled(text: str) -> str:
    """The page with what is made from results."""
    made = parts()
    return MARK.sub(lambda mark: f"{mark[1]}\n{made[mark[2]]}\n\n{mark[3]}", text)


def main() -> None:
    """Write page and pictures."""
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    for name, svg in pictures().items():
        (PAGE.parent / "images" / name).write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
