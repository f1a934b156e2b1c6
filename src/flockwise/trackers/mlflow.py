"""MLflow: a server, or any other tracking address."""

import os
from collections.abc import Mapping
from typing import Any

from flockwise.export.extras import TAG, flat, library, mark_of, runs_marked
from flockwise.store import Run
from flockwise.trackers.contract import Tracker

# MLflow's own patience with a server that does not answer is four minutes, for which training would wait.
PATIENCE = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "3", "MLFLOW_HTTP_REQUEST_TIMEOUT": "10"}


class MLflow(Tracker):
    """A run of an MLflow experiment; a run that is resumed goes on with the same one."""

    name = "mlflow"

    def __init__(self, uri: str, experiment: str = "flockwise") -> None:
        super().__init__()
        self._uri, self._experiment = uri, experiment
        for name, value in PATIENCE.items():
            os.environ.setdefault(name, value)
        self._entities = library("mlflow.entities", "mlflow")
        self._client: Any = library("mlflow", "mlflow").MlflowClient(tracking_uri=uri)
        self._key = ""

    def begin(self, run: Run, first: int) -> None:
        """Find or make the experiment and the run, and note the config."""
        known = self._client.get_experiment_by_name(self._experiment)
        experiment = known.experiment_id if known else self._client.create_experiment(self._experiment)
        before = runs_marked(self._client, experiment, run)
        if before:
            self._key = before[0].info.run_id
            self._client.update_run(self._key, status="RUNNING")
            return
        made = self._client.create_run(
            experiment, run_name=run.title, tags={TAG: mark_of(run), "flockwise.run": str(run.path)}
        )
        self._key = made.info.run_id
        settings = [
            self._entities.Param(field, str(value)[:500]) for field, value in flat(run.config).items()
        ]
        for start in range(0, len(settings), 100):
            self._client.log_batch(self._key, params=settings[start : start + 100])

    def log(self, facts: Mapping[str, float], round: int) -> None:
        """Every number as a metric, at the step that the round is."""
        points = [self._entities.Metric(name, value, 0, round) for name, value in facts.items()]
        for start in range(0, len(points), 1000):
            self._client.log_batch(self._key, metrics=points[start : start + 1000])

    def end(self, state: str) -> None:
        """Say how it ended."""
        self._client.set_terminated(
            self._key, {"finished": "FINISHED", "failed": "FAILED"}.get(state, "KILLED")
        )
