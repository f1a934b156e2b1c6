"""A folder of CSV or Parquet files, one a client: the name of a file is the name of its client."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from flockwise.data.bring_your_own import Labels, join_clients
from flockwise.data.dataset import Dataset, Holder
from flockwise.data.encoding import encoded
from flockwise.data.inputs import Inputs
from flockwise.data.metadata import check_about, checked_names
from flockwise.data.preparing import preparation
from flockwise.data.reading import reader
from flockwise.data.table_files import ENDINGS, Table, read_table
from flockwise.errors import DataError, InputError


@reader("your own: a folder of CSV or Parquet files, one a client")
def folder(
    path: Annotated[str, "the folder, relative to the config"],
    target: Annotated[str | Sequence[str], "the column to learn, or several: labels of 0 and 1, or numbers"],
    features: Annotated[Sequence[str] | None, "the columns to learn it from; none: all others"] = None,
    part: Annotated[
        str | None, "a column that says train or test of each row; none: the split decides"
    ] = None,
    labels: Annotated[Labels, "what the target is: classes, or numbers to predict"] = "classes",
    inputs: Annotated[Inputs, "what the features are: numbers, tokens or images"] = "auto",
    classes: Annotated[
        Sequence[str] | None, "the names of all classes, in order; none: those that are found, sorted"
    ] = None,
    impute: Annotated[bool, "fill gaps with the mean of the column, over all clients' training rows"] = False,
    standardise: Annotated[
        bool, "bring columns to mean 0 and spread 1, over all clients' training rows"
    ] = False,
    fitted: Annotated[
        Sequence[Sequence[float]] | None,
        "mean and spread of each column, as the run before had them; none: from the rows",
    ] = None,
    encode: Annotated[
        Mapping[str, Sequence[str]] | None,
        "columns of text and all their values: a column of 0 and 1 for each value",
    ] = None,
    about: Annotated[str | None, "a file in it with a row a client: name, and what is known of it"] = None,
    beside: Path | None = None,
) -> Dataset:
    """Read every table; the split `natural` then gives each client its own file."""
    where = (beside or Path()) / path
    if not where.is_dir():
        raise DataError(
            f"data.path = {path!r}: {where} is no folder; give one with a CSV or Parquet file a client"
        )
    files = sorted(f for f in where.iterdir() if _is_table(f) and f.name != about)
    if not files:
        raise DataError(f"data.path = {path!r}: {where} holds no {' or '.join(ENDINGS)} files")
    tables = {file.stem: _parts(encoded(read_table(file), encode or {}, file), part, file) for file in files}
    if about and not (where / about).is_file():
        raise DataError(
            f"data.about = {about!r}: {where} has no such file; put it there, beside the clients' own"
        )
    if len(tables) < len(files):
        raise DataError(f"{where}: two files of one name: every client needs a name of its own")
    known = _known(where / about, list(tables)) if about else {}
    names = [str(name) for name in checked_names(list(tables), len(tables))]
    try:
        prepare = preparation(impute, standardise, fitted)
        dataset, parts = join_clients(
            list(tables.values()), [f"{where.name}/{file.name}" for file in files], classes=classes, validation=0.0, seed=0,
            layout="NHWC", name=where.name, inputs=inputs, labels=labels, target=target, features=features,
        )  # fmt: skip
    except InputError as error:
        raise DataError(str(error)) from error
    writer = np.empty(dataset.samples, dtype=np.int64)
    for number, (train, _, test) in enumerate(parts):
        writer[train] = writer[test] = number
    holders = tuple(Holder(name, known.get(name, {})) for name in names)
    return Dataset(
        dataset.name, dataset.x, dataset.y, dataset.train, dataset.maximum, dataset.classes, dataset.class_names,
        writer=writer, holders=holders, columns=dataset.columns, tokens=dataset.tokens,
        prepare=prepare, left_out=_left_out(where, {*files, where / (about or ".")}),
    )  # fmt: skip


def _is_table(file: Path) -> bool:
    return file.suffix.lower() in ENDINGS and file.name[0] != "."


def _left_out(where: Path, read: set[Path]) -> tuple[str, ...]:
    """Files in the folder that were not read, and tables in folders inside it."""
    beside = [f for f in where.iterdir() if f.is_file() and f.name[0] != "." and f not in read]
    inside = [f for f in where.glob("*/*") if _is_table(f) and f.parent.name[0] != "."]
    return tuple(sorted(f.relative_to(where).as_posix() for f in (*beside, *inside)))


def _parts(table: Table, part: str | None, file: Path) -> Any:
    """The table, or its training and its test rows."""
    if part is None:
        return table
    if part not in table.column_names:
        raise DataError(f"{file}: data.part = {part!r} is no column of it")
    said = np.array([str(value).strip().lower() for value in table[part]])
    odd = sorted(set(said) - {"train", "test"})
    if odd:
        raise DataError(f"{file}, column {part}: {odd[0][:40]!r} must be train or test")
    rest = table.without(part)
    return {"train": rest.rows(said == "train"), "test": rest.rows(said == "test")}


def _known(file: Path, names: list[str]) -> Mapping[str, dict[str, Any]]:
    """What is known of each client, from a table with a column `name`."""
    table = read_table(file)
    if "name" not in table.column_names:
        raise DataError(
            f"{file}: needs a column name, with the names of the other files without their endings"
        )
    found = {}
    for row, name in enumerate(str(each) for each in table["name"]):
        if name not in names:
            raise DataError(f"{file}: {name[:60]!r} is no client; there is no such file beside it")
        facts = {key: _whole(table[key][row]) for key in table.column_names if key != "name"}
        found[name] = check_about(facts, f"{file.name} {name}")
    return found


def _whole(value: Any) -> Any:
    """A column with a gap is read as numbers with a point: what is whole is shown so."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
