"""The bars of the leaderboard, as its study's file has them: what is asked, what was measured, whether it is met."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from flockwise.studies.entry import Entry
from flockwise.studies.statistics import mean_and_half_width
from flockwise.studies.table import Column, StudyTable

OURS = "shepherd"
ROBUST = ("+", "Byzantine")  # what a baseline made against attackers has in its name
NO_MORE = "succeeds no more than with the best robust baseline"
BY_CHANCE = 0.05  # how much oftener than by chance an attack may succeed


class Bar(NamedTuple):
    """One bar; `met` is None where not everything it needs was measured."""

    asked: str
    measured: str
    met: bool | None


class Shortfall(NamedTuple):
    """A column in which another contestant has a better mean; `sure`: with the level shared out over all rows."""

    where: str
    number: str
    ours: Entry
    best: str
    theirs: Entry
    gain: Entry  # theirs over ours, seed by seed; above 0 is theirs
    sure: bool

    @property
    def ahead(self) -> bool:
        """Whether the 95 % interval of the paired gain is above 0, as if this were the only comparison."""
        return _above_zero(self.gain)


def entry(table: StudyTable, row: str, setting: Sequence[str], number: str) -> Entry:
    """What one method gave in one setting; empty if there is no such place."""
    for labels, entries in zip(table.rows, table.entries, strict=True):
        for column, found in zip(table.columns, entries, strict=True):
            if labels == (row,) and column.labels == tuple(setting) and column.number == number:
                return found
    return Entry()


def shortfalls(table: StudyTable) -> Iterator[Shortfall]:
    """Where another contestant is the best: told apart from ours by seeds, or while too few are run to mark any."""
    return (one for one in behind(table) if not one.ours.mark)


def behind(table: StudyTable) -> Iterator[Shortfall]:
    """Where another contestant has a better mean: the one furthest ahead of ours for sure, else the best."""
    rows = [labels[0] for labels in table.rows]
    for place, column in enumerate(table.columns):
        entries = dict(zip(rows, table.column(place), strict=True))
        ours = entries[OURS]
        if column.spec.direction == "neither" or not ours.values:
            continue
        gains = {
            row: _gain(one, ours, column)
            for row, one in entries.items()
            if one.values and row != OURS and row not in table.spec.show.bounds
        }
        better = {row: gain for row, gain in gains.items() if gain.values and gain.mean > 0}
        if not better:
            continue
        best = max(better, key=lambda row: (_above_zero(better[row]), better[row].mean))
        marked = any(one.mark for one in entries.values())
        yield Shortfall(
            column.setting, column.title, ours, best, entries[best], better[best], marked and not ours.mark
        )


def ahead_of_ours(table: StudyTable, place: int) -> list[str]:
    """The contestants of a column that are ahead of ours by a test of that pair alone, the furthest first."""
    entries = {labels[0]: one for labels, one in zip(table.rows, table.column(place), strict=True)}
    gains = {
        row: _gain(one, entries[OURS], table.columns[place])
        for row, one in entries.items()
        if row not in table.spec.show.bounds
    }
    found = [row for row, gain in gains.items() if gain.values and _above_zero(gain)]
    return sorted(found, key=lambda row: -gains[row].mean)


def _gain(theirs: Entry, ours: Entry, column: Column) -> Entry:
    """What another is better by, over the seeds that both have."""
    sign = 1.0 if column.spec.direction == "higher" else -1.0
    common = theirs.values.keys() & ours.values.keys()
    return Entry({seed: sign * (theirs.values[seed] - ours.values[seed]) for seed in sorted(common)})


def _above_zero(gain: Entry) -> bool:
    mean, half = mean_and_half_width(list(gain.values.values()))
    return half is not None and mean - half > 0


def bars(tables: dict[str, StudyTable]) -> list[Bar]:
    """All bars, in the order of the study's file."""
    found = [_columns(tables)]
    head, extra = tables["headline"], tables["circumstances"]
    for kind in ("swap", "rotation", "mixed"):
        found.append(
            _at_least(f"ARI on {kind}, number unknown", entry(head, OURS, (kind, "none"), "ari"), 0.94)
        )
        merged = extra_number(head, OURS, (kind, "none"), "pairs_merged")
        found.append(_at_most(f"conflicting pairs merged on {kind}", merged, 0.006))
    rare = ("rare kinds (25, 9, 4, 2)",)
    for other in ("FeSEM", "IFCA"):
        found.append(
            _beside(f"worst group of rare kinds, against {other}", extra, other, rare, "accuracy_worst_group")
        )
    known = entry(extra, OURS, ("newcomers, known",), "newcomers right")
    novel = entry(extra, OURS, ("newcomers, new kind",), "newcomers apart")
    found += [
        _at_least("newcomers of known kinds that are right", known, 0.96),
        _at_least("newcomers of a new kind with nobody of another kind", novel, 1.0),
        _false_alarms(tables),
        _backdoors(tables["attackers"], "backdoor, 20 %"),
    ]
    fooled = tables["backdoors"]
    for attack in dict.fromkeys(column.labels[0] for column in fooled.columns):
        found += [_backdoors(fooled, attack), _beside_the_oracle(fooled, attack)]
    for kind in ("swap", "rotation"):
        measured = entry(tables["few"], OURS, (kind,), "ari")
        found.append(_at_least(f"ARI on {kind}, eight of forty in each round", measured, 0.94))
    return found


def _columns(tables: dict[str, StudyTable]) -> Bar:
    short = [one for table in tables.values() for one in shortfalls(table)]
    columns = sum(
        bool(one.values) and column.spec.direction != "neither"
        for table in tables.values()
        for labels, row in zip(table.rows, table.entries, strict=True)
        if labels == (OURS,)
        for one, column in zip(row, table.columns, strict=True)
    )
    ahead = sum(one.ahead for table in tables.values() for one in behind(table))
    told = f"{columns - len(short)} of {columns} columns; in {ahead} another is ahead by a test of that pair alone"
    told = told if columns else "nothing yet"
    settled = bool(columns) and all(one.sure for one in short)
    met = (not short if settled else False if any(one.sure for one in short) else None) if columns else None
    told += "" if settled or not columns else "; too few seeds to tell the others apart"
    return Bar("best of every column, or not distinguishable from it", told, met)


def extra_number(table: StudyTable, row: str, setting: Sequence[str], number: str) -> Entry:
    """A number that results have and no column shows."""
    values = {
        result.seed: value
        for labels, result in table.labelled
        if tuple(labels[axis] for axis in (*table.row_axes, *table.column_axes)) == (row, *setting)
        if (value := result.values.get(number)) is not None
    }
    return Entry(values)


def _at_most(asked: str, measured: Entry, bar: float) -> Bar:
    values = list(measured.values.values())
    told = f"{measured.mean:.4f} ({len(values)} seeds)" if values else "nothing yet"
    return Bar(f"{asked}: at most {bar:g}", told, _if_any(values, measured.mean <= bar))


def _at_least(asked: str, measured: Entry, bar: float) -> Bar:
    values = list(measured.values.values())
    told = f"{measured.mean:.3f}" if values else "nothing yet"
    return Bar(f"{asked}: at least {bar:g}", told, _if_any(values, measured.mean >= bar))


def _beside(asked: str, table: StudyTable, other: str, setting: tuple[str, ...], number: str) -> Bar:
    ours, theirs = (entry(table, row, setting, number) for row in (OURS, other))
    both = [*ours.values, *theirs.values] if ours.values and theirs.values else []
    told = f"{ours.mean:.3f}, theirs {theirs.mean:.3f}" if both else "nothing yet"
    return Bar(asked, told, _if_any(both, ours.mean >= theirs.mean))


def _false_alarms(tables: dict[str, StudyTable]) -> Bar:
    values = [
        value
        for table in tables.values()
        for labels, row in zip(table.rows, table.entries, strict=True)
        if labels == (OURS,)
        for one, column in zip(row, table.columns, strict=True)
        if column.number == "false_alarms"
        for value in one.values.values()
    ]
    told = f"{sum(values):g} in {len(values)} runs" if values else "nothing yet"
    return Bar("honest clients set apart: none", told, _if_any(values, not sum(values)))


def _backdoors(table: StudyTable, attack: str) -> Bar:
    ours = entry(table, OURS, (attack,), "attack_success")
    robust: Callable[[str], bool] = lambda row: any(part in row for part in ROBUST)  # noqa: E731
    others = {
        labels[0]: entry(table, labels[0], (attack,), "attack_success")
        for labels in table.rows
        if robust(labels[0]) and labels[0] not in table.spec.show.bounds
    }
    known = {row: one.mean for row, one in others.items() if one.values}
    lowest = min(known, key=lambda row: known[row], default="")
    if not ours.values or not known:
        return Bar(f"{attack}: {NO_MORE}", "nothing yet", None)
    told = f"{ours.mean:.3f}; lowest of a robust baseline {known[lowest]:.3f} ({lowest})"
    return Bar(f"{attack}: {NO_MORE}", told, ours.mean <= known[lowest])


def _beside_the_oracle(table: StudyTable, attack: str) -> Bar:
    ours, chance = (entry(table, row, (attack,), "attack_success") for row in (OURS, "oracle"))
    asked = f"{attack}: succeeds at most {BY_CHANCE:g} more often than with the oracle"
    if not ours.values or not chance.values:
        return Bar(asked, "nothing yet", None)
    return Bar(asked, f"{ours.mean:.3f}, oracle {chance.mean:.3f}", ours.mean - chance.mean <= BY_CHANCE)


def _if_any(values: Sequence[object], met: bool) -> bool | None:
    return met if values else None
