"""The pictures of a table: heat map, curves with bands, strips of seeds, and which method when."""

import math
from collections.abc import Callable

from flockwise.numbers import number_of
from flockwise.pictures.bands import curves_panel, curves_range
from flockwise.pictures.flow import Answer, flow
from flockwise.pictures.number_map import Tile, number_map
from flockwise.pictures.panels import Figure
from flockwise.pictures.scales import HUES, reach
from flockwise.pictures.strips import Strip, strip_panel
from flockwise.studies.curves import curves_in
from flockwise.studies.showing import digits_of, entry_text, figure, mean_text, row_name, shortfall
from flockwise.studies.table import StudyTable

BRIGHT = 6  # curves in colour where there are too many for all
PANELS = 12


def figures_of(table: StudyTable) -> dict[str, Figure]:
    """The pictures that a table asks for and has results for, by name."""
    drawn = {name: _DRAW[name](table) for name in table.spec.show.figures}
    return {name: figure for name, figure in drawn.items() if figure is not None}


def heat(table: StudyTable) -> Figure | None:
    """The first number as shades, with the worst column aside."""
    first = table.columns[0].number
    places = [place for place, column in enumerate(table.columns) if column.number == first]
    if not any(entry.values for row in table.entries for entry in row):
        return None
    tiles: list[list[Tile]] = []
    for labels, row in zip(table.rows, table.entries, strict=True):
        tiles.append([])
        for place in places:
            entry, digits = row[place], digits_of(table, place)
            said = f"{row_name(labels)}, {table.columns[place].setting}: {entry_text(entry, digits)}"
            value = entry.mean if entry.values else None
            words = figure(entry.mean, digits) if entry.values else shortfall(entry)
            tiles[-1].append(Tile(value, words, entry.mark, said))
    columns = [table.columns[place].setting or table.columns[place].title for place in places]
    apart = sum(bool(table.columns[place].worst) for place in places)
    notes = [f"Dark is high; {_direction(table)}."]
    if any(tile.mark for row in tiles for tile in row):
        notes.append("Thick frame: best mean of its column. Thin frame: not distinguishable from it.")
    rows = [row_name(labels) for labels in table.rows]
    return Figure(_title(table), [number_map(table.called, rows, columns, tiles, apart)], notes=notes)


def curves(table: StudyTable) -> Figure | None:
    """The first number round by round, a panel for each setting."""
    found = curves_in(table)
    if not any(found.values()):
        return None
    bright = highlighted(table)
    colours = {row_name(table.rows[row]): HUES[number % len(HUES)] for number, row in enumerate(bright)}
    spec = table.columns[0].spec
    share = number_of(spec.of).share and not spec.percent
    y_range = curves_range([curve for panel in found.values() for curve in panel], share)
    shown = table.settings[:PANELS]
    panels = [
        curves_panel(table.columns[c].setting or table.columns[c].title, "round", found[c], colours, y_range)
        for c in shown
    ]
    notes = ["Mean over seeds and its 95 % interval."] if len({cell.seed for cell in table.cells}) > 1 else []
    if len(bright) < len(table.rows):
        notes.append(
            f"In colour: the {len(bright)} rows that are marked most often, then by their mean; all others in grey."
        )
    notes += _cut(table)
    return Figure(_title(table), panels, 2 if len(panels) < 5 else 3, notes)


def seeds(table: StudyTable) -> Figure | None:
    """Every seed of the first number as a dot, a panel for each setting."""
    entries = [row[place] for row in table.entries for place in table.settings]
    values = [value for entry in entries for value in entry.values.values()]
    if not values:
        return None
    panels = []
    for place in table.settings[:PANELS]:
        strips = [
            Strip(
                row_name(labels), list(row[place].values.values()), row[place].mean if row[place].values else None,
                row[place].half_width, bool(row[place].mark), shortfall(row[place]),
            )
            for labels, row in zip(table.rows, table.entries, strict=True)
        ]  # fmt: skip
        title = table.columns[place].setting or table.columns[place].title
        panels.append(strip_panel(title, strips, reach(values)))
    notes = ["A dot for each seed; the bar is the mean, the line its 95 % interval, cut off at the frame."]
    notes += ["Blue: the best mean and those not distinguishable from it."] if _marked(table) else []
    return Figure(_title(table), panels, 3, notes + _cut(table))


def when(table: StudyTable) -> Figure | None:
    """For each setting the method to take, and those that may be as good."""
    first = table.columns[0].number
    if len(table.rows) < 2 or table.columns[0].spec.direction == "neither":
        return None
    answers = []
    for place, column in enumerate(table.columns):
        if column.number != first:
            continue
        path = tuple(
            f"worst {axis}" if axis == column.worst else label
            for axis, label in zip(table.column_axes, column.labels, strict=True)
        )
        best, tied = _named(table, place, "best"), [name for name, _ in _named(table, place, "tied")]
        answers.append(Answer(path, best, tied, "" if best else _why_not(table, place)))
    notes = ["Filled: best mean. Framed: not distinguishable from it with these seeds (paired t test)."]
    title = f"{table.called}: which {' and '.join(table.row_axes)} when"
    return Figure(title, [flow(title, table.column_axes, answers)], notes=notes)


def highlighted(table: StudyTable) -> list[int]:
    """The rows that are drawn in colour: all, or those that are marked most often."""
    rows = list(range(len(table.rows)))
    if len(rows) <= len(HUES):
        return rows
    sign = -1.0 if table.columns[0].spec.direction == "lower" else 1.0

    def rank(row: int) -> tuple[int, float]:
        mine = [table.entries[row][place] for place in table.settings]
        means = [sign * entry.mean for entry in mine if math.isfinite(entry.mean)]
        return -sum(bool(entry.mark) for entry in mine), -(sum(means) / len(means) if means else -math.inf)

    return sorted(sorted(rows, key=rank)[:BRIGHT])


def _title(table: StudyTable) -> str:
    return f"{table.called}: {table.columns[0].title}"


def _named(table: StudyTable, place: int, mark: str) -> list[tuple[str, str]]:
    """The rows with a mark, the best mean first, each with its mean."""
    digits = digits_of(table, place)
    found = [
        (labels, row[place])
        for labels, row in zip(table.rows, table.entries, strict=True)
        if row[place].mark == mark
    ]
    found.sort(key=lambda one: one[1].mean, reverse=table.columns[place].spec.direction != "lower")
    return [(row_name(labels), mean_text(entry, digits)) for labels, entry in found]


def _why_not(table: StudyTable, place: int) -> str:
    most = max(entry.seeds for entry in table.column(place))
    return {0: "nothing measured yet", 1: "one seed: nothing can be told"}.get(most, "too little to compare")


def _marked(table: StudyTable) -> bool:
    return any(entry.mark for row in table.entries for entry in row)


def _direction(table: StudyTable) -> str:
    better = table.columns[0].spec.direction
    return "neither direction is better" if better == "neither" else f"{better} is better"


def _cut(table: StudyTable) -> list[str]:
    left = len(table.settings) - PANELS
    return [f"{left} more settings are in the table only."] if left > 0 else []


_DRAW: dict[str, Callable[[StudyTable], Figure | None]] = {
    "heat": heat, "curves": curves, "seeds": seeds, "when": when,
}  # fmt: skip
