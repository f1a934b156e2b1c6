"""A study as one HTML page that opens anywhere, offline: tables, pictures, what failed, how to do it again."""

from collections.abc import Sequence
from importlib.resources import files

from flockwise.report.page import content_hash, fill, page_style
from flockwise.studies.figures import figures_of
from flockwise.studies.file import StudyFile
from flockwise.studies.html_table import html_table, safe
from flockwise.studies.notes import settings_said
from flockwise.studies.origin import Fact, origin_of
from flockwise.studies.table import StudyTable
from flockwise.studies.tuning import Search

_CAPTIONS = {
    "heat": "At a glance", "curves": "Round by round", "seeds": "Seed by seed", "when": "Which one when",
}  # fmt: skip


def study_page(
    study: StudyFile, tables: Sequence[StudyTable], text: str = "", command: str = "", searches: Sequence[Search] = ()
) -> str:  # fmt: skip
    """The page; `text` is the study's file as it was written, `command` what carries it out.

    Every label and error is anyone's text: it is escaped, and the page allows no script or style but its own.
    """
    style = page_style() + _text("page/page.css")
    script = f'"use strict";\n{{\n{_text("page/page.js")}}}\n'
    policy = (
        "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; "
        f"script-src {content_hash(script)}; style-src {content_hash(style)}"
    )
    cards = [_table_card(number, table) for number, table in enumerate(tables)]
    cards += [*_tuning(searches), *_lacking(tables), _making(tables, command), *_source(text)]
    parts = {
        "policy": policy, "title": f"{safe(study.name)} · Flockwise", "style": style, "script": script,
        "heading": safe(study.title or study.name), "story": safe(_story(tables)),
        "contents": _contents(tables), "cards": "\n".join(cards),
    }  # fmt: skip
    return fill(_text("page/page.html"), parts)


def _table_card(number: int, table: StudyTable) -> str:
    parts = [html_table(table)]
    for name, figure in figures_of(table).items():
        kind = "panels" if len(figure.panels) > 1 else "whole"
        drawn = "".join(panel.svg() for panel in figure.panels)
        notes = "".join(f'<p class="note">{safe(note)}</p>' for note in figure.notes)
        parts.append(f'<h3>{_CAPTIONS[name]}</h3><div class="{kind}">{drawn}</div>{notes}')
    return _card(f"table-{number}", table.called, "".join(parts), "card wide long table")


def _tuning(searches: Sequence[Search]) -> list[str]:
    """What was tried for each method, the chosen one marked."""
    rows = ""
    for search in searches:
        for one in search.tries:
            value = "failed" if one.value is None else f"{one.value:.4g}"
            place = f"{search.table}: {search.label}" if search.table else search.label
            said = [place, str(one.number), settings_said(one.settings), value]
            cells = "".join(f"<td>{safe(part)}</td>" for part in said)
            kind = ' class="chosen"' if search.chosen and one.settings == search.chosen else ""
            rows += f'<tr{kind} title="{safe(one.error)}">{cells}</tr>'
    head = "<tr><th>tuned</th><th>try</th><th>settings</th><th>on validation data</th></tr>"
    table = f'<div class="scroll"><table><thead>{head}</thead><tbody>{rows}</tbody></table></div>'
    note = '<p class="note">Every method had the same number of tries; the chosen ones are marked.</p>'
    return [_card("tuning", "Tuning", note + table)] if rows else []


def _lacking(tables: Sequence[StudyTable]) -> list[str]:
    """The cells that failed, each with its error, and those that were not run."""
    cards = []
    failed = [(*key, error) for table in tables for key, error in table.failures.items()]
    if failed:
        rows = "".join(
            f"<tr><td>{safe(name)}</td><td>{safe(cell)}</td><td>{seed}</td><td>{safe(error)}</td></tr>"
            for name, cell, seed, error in failed
        )
        head = "<tr><th>table</th><th>cell</th><th>seed</th><th>error</th></tr>"
        table = f'<div class="scroll"><table><thead>{head}</thead><tbody>{rows}</tbody></table></div>'
        cards.append(_card("failed", f"{_cells(len(failed))} failed", table))
    missing = [cell for table in tables for cell in table.missing]
    if missing:
        names = "".join(f"<li>{safe(f'{cell.name} (seed {cell.seed})')}</li>" for cell in missing)
        listed = f"<details><summary>Which</summary><ul>{names}</ul></details>"
        cards.append(_card("missing", f"Not run yet: {_cells(len(missing))}", listed))
    return cards


def _making(tables: Sequence[StudyTable], command: str) -> str:
    facts: list[Fact] = origin_of([result for table in tables for result in table.results])
    if command:
        facts.append(("run it again", f"{command} (finished cells are skipped)"))
    said = "".join(f"<dt>{safe(name)}</dt><dd>{safe(value)}</dd>" for name, value in facts)
    return _card("made", "How it was made", f'<dl class="facts">{said}</dl>')


def _source(text: str) -> list[str]:
    return [_card("file", "The study", f"<pre>{safe(text)}</pre>")] if text else []


def _card(name: str, title: str, inside: str, kind: str = "card wide") -> str:
    return f'<section class="{kind}" id="{name}"><h2>{safe(title)}</h2>{inside}</section>'


def _contents(tables: Sequence[StudyTable]) -> str:
    places = [(f"table-{number}", table.called) for number, table in enumerate(tables)]
    places += [("failed", "failed")] if any(table.failures for table in tables) else []
    places += [("missing", "not run")] if any(table.missing for table in tables) else []
    return "".join(
        f'<li><a href="#{name}">{safe(title)}</a></li>' for name, title in [*places, ("made", "made")]
    )


def _story(tables: Sequence[StudyTable]) -> str:
    cells, done = sum(len(table.cells) for table in tables), sum(len(table.results) for table in tables)
    failed, missing = (
        sum(len(table.failures) for table in tables),
        sum(len(table.missing) for table in tables),
    )
    said = f"{_cells(cells)}, {done} finished"
    said += f", {failed} failed" if failed else ""
    said += f", {missing} not run yet" if missing else ""
    return said + ". Choose a row's name to see its curves; point at a title or a dot for what it is."


def _cells(count: int) -> str:
    return "1 cell" if count == 1 else f"{count} cells"


def _text(name: str) -> str:
    return files("flockwise.studies").joinpath(name).read_text(encoding="utf-8")
