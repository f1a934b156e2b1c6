"""Rows that a study's file does not have: a strategy of one's own beside all others, under the same conditions."""

from collections.abc import Mapping

from flockwise.errors import ConfigError
from flockwise.studies.file import Axis, StudyFile, Table, sides


def with_rows(study: StudyFile, rows: Mapping[str, str]) -> StudyFile:
    """The study with one more row for each: its label, and the strategy's name or `module:function`.

    The row is added to the axis that makes the rows, in every table; a study whose rows are not named settings has none.
    """
    if not rows:
        return study
    added = {label: {"strategy": {"name": name}} for label, name in rows.items()}
    if not study.tables:
        return study.model_copy(update={"vary": _more(study, study.vary, added)})
    shared = {_axis(table) for table in study.every_table().values()} & set(study.vary)
    tables = {
        name: table
        if _axis(whole) in shared
        else table.model_copy(update={"vary": _more(whole, table.vary, added)})
        for (name, table), whole in zip(study.tables.items(), study.every_table().values(), strict=True)
    }
    vary = {axis: {**values, **added} if axis in shared else values for axis, values in study.vary.items()}  # type: ignore[dict-item]
    for axis in shared:
        _check(axis, study.vary[axis], added)
    return study.model_copy(update={"vary": vary, "tables": tables})


def _axis(table: Table) -> str:
    return (sides(table)[0] or [""])[0]


def _more(table: Table, vary: Mapping[str, Axis], added: Mapping[str, object]) -> dict[str, Axis]:
    axis = _axis(table)
    _check(axis, table.vary.get(axis, []), added)
    return {name: {**values, **added} if name == axis else values for name, values in vary.items()}  # type: ignore[dict-item]


def _check(axis: str, values: Axis, added: Mapping[str, object]) -> None:
    if not isinstance(values, Mapping):
        raise ConfigError(
            f"--row: this study's rows are values of {axis or 'nothing'}, not named settings; a row needs names"
        )
    for label in added:
        if label in values:
            raise ConfigError(f"--row {label}: this study has a row of that name; choose another")
