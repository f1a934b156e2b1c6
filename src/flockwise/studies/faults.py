"""What is wrong with a study's file although each field for itself is right."""

from flockwise.numbers import number_of
from flockwise.studies.cells import labels_of
from flockwise.studies.file import Range, Table, Tune, listed, sides


def faults_of(table: Table) -> list[str]:
    """A line for each thing that cannot be as the file says it."""
    axes, faults = set(table.vary), []
    for name, axis in table.vary.items():
        if not axis:
            faults.append(f"vary.{name}: is empty; give it values, such as [1, 2], or named settings")
        elif name in ("seed", "scale"):
            faults.append(f"vary.{name}: cannot be an axis; seeds and scales have fields of their own")
    known = axes | {"scale"}
    conditions = [("skip", where) for where in table.skip]
    conditions += [("adjust.where", adjust.where) for adjust in table.adjust]
    conditions += [("fork.where", fork.where) for fork in table.forks()]
    for place, where in conditions:
        faults += [f"{place}.{axis}: no such axis; there are {_some(known)}" for axis in where.keys() - known]
    for field in ("rows", "columns"):
        faults += [
            f"show.{field} = {axis!r}: no such axis; there are {_some(axes)}"
            for axis in listed(getattr(table.show, field))
            if axis not in axes
        ]
    if table.show.worst is not None and table.show.worst not in axes:
        faults.append(f"show.worst = {table.show.worst!r}: no such axis; there are {_some(axes)}")
    elif table.show.worst is not None and table.show.worst not in sides(table)[1]:
        faults.append(f"show.worst = {table.show.worst!r}: is an axis of the rows; name one of the columns")
    both = sorted(set(listed(table.show.rows)) & set(listed(table.show.columns)))
    faults += [
        f"show.columns = {axis!r}: is an axis of the rows already; take it out of one" for axis in both
    ]
    named = {label for axis in sides(table)[0] if axis in axes for label in labels_of(table.vary[axis])}
    faults += [
        f"show.bounds = {label!r}: no such row; there are {_some(named)}"
        for label in table.show.bounds
        if label not in named
    ]
    if isinstance(table.seeds, list) and len(set(table.seeds)) < len(table.seeds):
        faults.append(f"seeds = {table.seeds}: a seed counts once; leave out the others")
    return faults + (_tune_faults(table.tune, table, axes) if table.tune else [])


def _tune_faults(tune: Tune, table: Table, axes: set[str]) -> list[str]:
    faults = [
        f"tune.by = {axis!r}: no such axis; there are {_some(axes)}" for axis in tune.by if axis not in axes
    ]
    if not tune.search:
        faults.append("tune.search: is empty; name a field and what to try, such as training.learning_rate")
    for name, values in tune.search.items():
        if isinstance(values, list) and not values:
            faults.append(f"tune.search.{name}: is empty; give it values to try")
        elif isinstance(values, Range) and not values.low < values.high:
            faults.append(f"tune.search.{name}: low = {values.low:g} must be below high = {values.high:g}")
        elif isinstance(values, Range) and values.log and values.low <= 0:
            faults.append(f"tune.search.{name}: low = {values.low:g} must be above 0 for a search by factors")
    number = number_of(tune.number)
    if number.better == "neither" or number.of_run:
        faults.append(
            f"tune.number = {tune.number!r}: must be a number of rounds with a better direction, such as accuracy"
        )
    if table.compute:
        faults.append("tune: cells that are computed have nothing to tune; leave it out")
    return faults


def _some(names: set[str]) -> str:
    return ", ".join(sorted(names)) or "none"
