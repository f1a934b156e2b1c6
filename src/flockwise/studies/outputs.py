"""Everything a study shows, as files: tables in the formats people publish, one page, figures."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from flockwise.store.files import write_atomically
from flockwise.studies.cells import Cell
from flockwise.studies.figures import figures_of
from flockwise.studies.file import StudyFile
from flockwise.studies.page import study_page
from flockwise.studies.results import Result, slug
from flockwise.studies.tabulating import tables_of
from flockwise.studies.tuning import Search
from flockwise.studies.writers.csv import csv_table, csv_tries
from flockwise.studies.writers.latex import latex_table
from flockwise.studies.writers.markdown import markdown_table

_WRITERS = {"md": markdown_table, "tex": latex_table, "csv": csv_table}


def write_outputs(
    study: StudyFile, cells: Sequence[Cell], results: Iterable[Result], folder: Path, directory: Path | None = None,
    text: str = "", command: str = "", searches: Sequence[Search] = (),
) -> list[Path]:  # fmt: skip
    """Write page.html, figures/, table.md, .tex and .csv (NAME.md ... where there are several tables); what was written.

    `directory` is where the study's own pieces are looked for, as when its cells were made; `text` is the study's file
    as it was written and `command` what carries it out, for the page; `searches` are what was tried while tuning.
    """
    tables = tables_of(study, cells, results, directory)
    written = [_write(folder / "page.html", study_page(study, tables, text, command, searches).encode())]
    if searches:
        written.append(_write(folder / "tuning.csv", csv_tries(searches).encode()))
    for stem, table in zip(stems([table.name for table in tables]), tables, strict=True):
        for ending, write in _WRITERS.items():
            written.append(_write(folder / f"{stem}.{ending}", write(table).encode()))
        for name, figure in figures_of(table).items():
            picture = figure.picture()
            written.append(_write(folder / "figures" / f"{stem}-{name}.svg", picture.svg().encode()))
            written.append(_write(folder / "figures" / f"{stem}-{name}.pdf", picture.pdf()))
    return written


def stems(names: Sequence[str]) -> list[str]:
    """A file name for each table; two that would have the same one are numbered."""
    given: list[str] = []
    for name in names:
        stem = slug(name) if name else "table"
        given.append(stem if stem.lower() not in map(str.lower, given) else f"{stem}-{len(given) + 1}")
    return given


def _write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, content)
    return path
