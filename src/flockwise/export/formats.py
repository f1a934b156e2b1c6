"""Choose a format, write the files."""

from pathlib import Path

from flockwise.errors import InputError
from flockwise.export.extras import library, write_mlflow, write_parquet, write_tensorboard
from flockwise.export.tables import tables
from flockwise.export.text_files import write_csv, write_json_lines
from flockwise.store import open_run

TABLES = {"csv": write_csv, "jsonl": write_json_lines, "parquet": write_parquet}
TRACKERS = {"tensorboard": write_tensorboard, "mlflow": write_mlflow}
NEEDS = {"parquet": "pyarrow", "tensorboard": "tensorboard", "mlflow": "mlflow"}  # libraries that are extras
FORMATS = (*TABLES, *TRACKERS)


def export_run(run_path: Path, to: str, out: Path, uri: str | None = None) -> list[Path]:
    """Write a run's numbers into the folder `out`, or to an MLflow server at `uri`; the files written."""
    if to not in FORMATS:
        raise InputError(f"to = {to!r}: must be one of {', '.join(FORMATS)}")
    if uri is not None and to != "mlflow":
        raise InputError(f"uri = {uri!r}: is for MLflow; {to} is written into a folder, out")
    run, out = open_run(run_path), Path(out)
    if to in NEEDS:
        library(NEEDS[to], to)  # before a folder is made for nothing
    if uri is not None:
        return write_mlflow(run, out, uri)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"out = {str(out)!r}: cannot be made a folder: {error.strerror}") from error
    return TABLES[to](tables(run), out) if to in TABLES else TRACKERS[to](run, out)
