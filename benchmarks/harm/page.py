"""Put the tables of harm to the innocent where docs/attacks-and-judges.md has its marks. Runs nothing.

python benchmarks/harm/page.py
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from flockwise.studies.entry import Entry
from flockwise.studies.handle import Study
from flockwise.studies.showing import mean_text, shortfall
from flockwise.studies.table import StudyTable

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "attacks-and-judges.md"
BEGIN, END = "<!-- harm: begin -->", "<!-- harm: end -->"
WITHOUT = {  # what a method is without its defence; of several the better one
    "shepherd": ("FedAvg", "FLIC"),
    "FLIC + judge validation": ("FLIC",),
    "FLIC + judge root": ("FLIC",),
    "FLIC + judge largest": ("FLIC",),
    "FL+HC + judge largest": ("FL+HC",),
    "Byzantine CFL": ("FedAvg",),
}
TITLES = {
    "set apart": "Share of the clients set apart",
    "of the rarest kind": "Share set apart of the rarest kind of clients",
    "accuracy": "Accuracy of all clients, those set apart included",
    "accuracy_worst": "The worst client's accuracy",
}


def tables(table: StudyTable) -> Iterator[str]:
    """A table for each number, methods by data, and what the defence costs after the accuracy."""
    data = [labels[0] for labels in dict.fromkeys(column.labels for column in table.columns)]
    for number, title in TITLES.items():
        rows = {row: _row(table, row, data, number) for (row,) in table.rows}
        yield _table(title, data, rows)
        if number == "accuracy":
            lost = {row: [_lost(rows, row, place) for place in range(len(data))] for row in WITHOUT}
            yield _table("Accuracy lost against the same method without its defence", data, lost)


def _row(table: StudyTable, row: str, data: list[str], number: str) -> list[Entry]:
    entries = table.entries[table.rows.index((row,))]
    found = {
        column.labels[0]: entry
        for column, entry in zip(table.columns, entries, strict=True)
        if column.number == number
    }
    return [found[name] for name in data]


def _lost(rows: Mapping[str, list[Entry]], row: str, place: int) -> Entry:
    """Seed by seed, against the better of what the method is without its defence."""
    ours = rows[row][place].values
    known = [rows[name][place] for name in WITHOUT[row] if rows[name][place].values]
    if not known:
        return Entry()
    best = max(known, key=lambda entry: entry.mean)
    return Entry({seed: best.values[seed] - ours[seed] for seed in ours.keys() & best.values.keys()})


def _table(title: str, data: list[str], rows: Mapping[str, list[Entry]]) -> str:
    lines = ["method", *data], ["---", *["---:"] * len(data)]
    told = [[name, *map(_text, entries)] for name, entries in rows.items()]
    return f"**{title}**\n\n" + "\n".join("| " + " | ".join(line) + " |" for line in (*lines, *told))


def _text(entry: Entry) -> str:
    if not entry.values:
        return "-" if entry.unmeasured or entry.left_out else shortfall(entry)
    lacks = shortfall(entry)
    return mean_text(entry, 3) + (f" ({lacks})" if lacks else "")


def main() -> None:
    """Write the page."""
    (table,) = Study(HERE / "study.toml", out=HERE).tables()
    text = "\n\n".join(tables(table)) if table.results else "Not measured yet."
    if table.missing:
        text += f"\n\n{len(table.missing)} of {len(table.cells)} cells are not run yet."
    page = PAGE.read_text(encoding="utf-8")
    start, stop = page.index(BEGIN) + len(BEGIN), page.index(END)
    PAGE.write_text(f"{page[:start]}\n\n{text}\n\n{page[stop:]}", encoding="utf-8")


if __name__ == "__main__":
    main()
