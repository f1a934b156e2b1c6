"""Fair tuning: each method gets the same number of tries, judged on validation data alone, all of them on record.

A try is an ordinary cell whose clients are judged on their validation data; its test data is never looked at. A method
is tuned in the first column of its table (or of `tune.table`, for all tables), or apart for each label of the axes that
`tune.by` names.
"""

import contextlib
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from flockwise.errors import ConfigError
from flockwise.numbers import number_of
from flockwise.studies.cells import Cell, with_tuned
from flockwise.studies.file import Tune
from flockwise.studies.results import Result
from flockwise.studies.searching import Tried, budget, proposals
from flockwise.studies.tries import Group, Try, group_of, on_record, told_of, try_cell, tune_of

NOT_YET: Tried = {"not tuned yet": True}  # no result has this, so none counts before the search has ended
Key = tuple[str, Group]  # table and method


@dataclass(frozen=True)
class Search:
    """The tries of one method, and the settings that were best; empty while it is under way."""

    table: str
    group: Group
    tries: list[Try] = field(default_factory=list)
    chosen: Tried = field(default_factory=dict)
    error: str = ""
    left: int = 0  # tries that are not on record yet

    @property
    def label(self) -> str:
        """The method."""
        return ", ".join(self.group) or "all"


def tune(
    cells: Sequence[Cell], results: Callable[[], Iterable[Result]], directory: Path | None = None,
    carry_out: Callable[[list[Cell]], bool] | None = None, *, among: Sequence[Cell] = (),
) -> list[Search]:  # fmt: skip
    """The search for every method of the tables that ask for it; without `carry_out` as far as it is on record.

    `among` are cells whose tables methods may be tuned in too, besides `cells` themselves.
    `results` reads the tries on record; `carry_out` runs more, the next one of each method side by side, and returns
    False when somebody asked to stop. A search that is not through has chosen nothing.
    """
    bases = _bases(cells, among or cells)
    recorded = list(results())
    tries = {key: on_record(base, key[1], recorded, directory) for key, base in bases.items()}
    if carry_out is not None:
        _go_on(bases, tries, results, directory, carry_out)
    return [_ended(Search(*key, tries[key]), tune_of(base)) for key, base in bases.items()]


def _go_on(
    bases: Mapping[Key, Cell], tries: Mapping[Key, list[Try]], results: Callable[[], Iterable[Result]],
    directory: Path | None, carry_out: Callable[[list[Cell]], bool],
) -> None:  # fmt: skip
    """Run what is left of the searches, adding to their tries."""
    left = [key for key in bases if len(tries[key]) < budget(tune_of(bases[key]))]
    walks = {key: proposals(tune_of(bases[key]), [(t.settings, t.value) for t in tries[key]]) for key in left}
    asked = {key: next(walk) for key, walk in walks.items()}
    while asked:
        here = {
            key: try_cell(bases[key], key[1], len(tries[key]) + 1, settings, directory)
            for key, settings in asked.items()
        }
        whole = carry_out(list(here.values()))
        recorded = list(results())
        asked = {}
        for key, cell in here.items():
            told = told_of(cell, recorded, len(tries[key]) + 1, directory)
            if told is not None:
                tries[key].append(told)
                with contextlib.suppress(StopIteration):
                    asked[key] = walks[key].send(told.value)
        if not whole:
            return


def with_choices(cells: Sequence[Cell], searches: Sequence[Search], directory: Path | None) -> list[Cell]:
    """The cells with what was chosen for their method; those whose search is not through wait for it."""
    found = {(search.table, search.group): search for search in searches}
    changed = []
    for cell in cells:
        search = found.get(_key(cell, found)) if cell.spec.tune else None
        if search is None:
            changed.append(cell)
        elif search.error:
            changed.append(replace(cell, config=None, error=search.error, tuned=NOT_YET))
        elif not search.chosen:
            changed.append(replace(cell, tuned=NOT_YET))
        else:
            changed.append(with_tuned(cell, search.chosen, directory))
    return changed


def searches_for(cells: Iterable[Cell], searches: Iterable[Search]) -> list[Search]:
    """The searches that some cells have their settings from."""
    found = {(search.table, search.group): search for search in searches}
    keys = dict.fromkeys(_key(cell, found) for cell in cells if cell.spec.tune is not None)
    return [found[key] for key in keys if key in found]


def _key(cell: Cell, known: Container[Key]) -> Key:
    """Which search a cell's settings come from: that of the table it shares one with, if its method is in there."""
    shared, group = tune_of(cell).table, group_of(cell)
    return (shared, group) if shared is not None and (shared, group) in known else (cell.table, group)


def _bases(cells: Sequence[Cell], among: Sequence[Cell]) -> dict[Key, Cell]:
    """The cell that each search varies: the method's first one."""
    firsts: dict[Key, Cell] = {}
    for cell in among:
        if cell.spec.tune is not None:
            firsts.setdefault((cell.table, group_of(cell)), cell)
    keys = dict.fromkeys(_key(cell, firsts) for cell in cells if cell.spec.tune is not None)
    bases = {key: firsts[key] for key in keys}
    for cell in bases.values():
        if cell.config is not None and not cell.config.split.validation:
            raise ConfigError(
                "tune: split.validation = 0 leaves nothing to judge tries on; set it, such as 0.1"
            )
    return bases


def _ended(search: Search, wanted: Tune) -> Search:
    if len(search.tries) < budget(wanted):
        return replace(search, left=budget(wanted) - len(search.tries))
    known = [one for one in search.tries if one.value is not None]
    if not known:
        error = search.tries[-1].error.splitlines()[0]
        return replace(search, error=f"tune: none of {len(search.tries)} tries could be run: {error}")
    sign = 1.0 if number_of(wanted.number).better == "higher" else -1.0
    best = max(known, key=lambda one: sign * (one.value or 0.0))  # the first of several that are equal
    return replace(search, chosen=best.settings)
