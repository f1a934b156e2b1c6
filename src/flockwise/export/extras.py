"""Formats that need a library of their own, which is imported only when asked for."""

import hashlib
import json
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from flockwise.errors import PluginError
from flockwise.export.tables import Table, plain
from flockwise.store import Run

TAG = "flockwise.id"  # of a run in MLflow


def write_parquet(found: dict[str, Table], out: Path) -> list[Path]:
    """One file for each table (pyarrow)."""
    arrow = library("pyarrow", "parquet")
    parquet = library("pyarrow.parquet", "parquet")
    written = []
    for name, table in found.items():
        parquet.write_table(arrow.table(table), out / f"{name}.parquet")
        written.append(out / f"{name}.parquet")
    return written


def write_tensorboard(run: Run, out: Path) -> list[Path]:
    """One event file with every number as a scalar over rounds, and the config as text."""
    library("tensorboard", "tensorboard")
    writer = library("torch.utils.tensorboard", "tensorboard").SummaryWriter(str(out))
    try:
        writer.add_text("config", f"```json\n{json.dumps(run.config, indent=2, default=str)}\n```")
        for name, values in run.facts.items():
            for round, value in zip(run.rounds.tolist(), plain(values), strict=True):
                if value is not None:
                    writer.add_scalar(name, value, round)
    finally:
        writer.close()
    return sorted(out.glob("events.out.tfevents.*"))


def write_mlflow(run: Run, out: Path, uri: str | None = None) -> list[Path]:
    """A run in an MLflow database (`mlflow ui --backend-store-uri sqlite:///OUT/mlflow.db`); a second time replaces it."""
    mlflow = library("mlflow", "mlflow")
    entities = library("mlflow.entities", "mlflow")
    store = out / "mlflow.db"
    client = mlflow.MlflowClient(tracking_uri=uri or f"sqlite:///{store.resolve()}")
    name = "flockwise"
    known = client.get_experiment_by_name(name)
    experiment = known.experiment_id if known else client.create_experiment(name)
    for before in runs_marked(client, experiment, run):
        client.delete_run(before.info.run_id)
    tags = {"state": run.state, TAG: mark_of(run)}
    made = client.create_run(experiment, run_name=run.title, tags=tags)
    key = made.info.run_id
    parameters = [entities.Param(field, str(value)[:500]) for field, value in flat(run.config).items()]
    for start in range(0, len(parameters), 100):
        client.log_batch(key, params=parameters[start : start + 100])
    points = [
        entities.Metric(fact, value, 0, round)
        for fact, values in run.facts.items()
        for round, value in zip(run.rounds.tolist(), plain(values), strict=True)
        if value is not None
    ]
    for start in range(0, len(points), 1000):
        client.log_batch(key, metrics=points[start : start + 1000])
    client.set_terminated(key, "FINISHED" if run.state == "finished" else "KILLED")
    return [store] if uri is None else []


def runs_marked(client: Any, experiment: str, run: Run) -> list[Any]:
    """The runs of an MLflow experiment that are this one; the server looks, since it tells of a thousand runs at most."""
    return list(client.search_runs([experiment], filter_string=f"tags.`{TAG}` = '{mark_of(run)}'"))


def mark_of(run: Run) -> str:
    """What a run is known by elsewhere: the same when it is resumed, or exported again."""
    return hashlib.sha256(f"{run.path.resolve()} {run.about.get('created', '')}".encode()).hexdigest()[:20]


def library(name: str, extra: str) -> Any:
    """A library that is an extra, or an error that says how to install it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise PluginError(
            f"export to {extra}: {error.name or name} is missing; pip install 'flockwise[{extra}]'"
        ) from error


def flat(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """A config as `section.field` = value."""
    found: dict[str, Any] = {}
    for key, value in config.items():
        found |= flat(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {f"{prefix}{key}": value}
    return found
