"""Weights & Biases."""

from collections.abc import Mapping
from typing import Any

from flockwise.export.extras import library, mark_of
from flockwise.store import Run
from flockwise.trackers.contract import Tracker


class WandB(Tracker):
    """A run of a W&B project; a run that is resumed goes on with the same one. WANDB_MODE=offline keeps it here."""

    name = "wandb"

    def __init__(self, project: str) -> None:
        super().__init__()
        self._project, self._wandb = project, library("wandb", "wandb")
        self._run: Any = None

    def begin(self, run: Run, first: int) -> None:
        """Start the W&B run with the config."""
        self._run = self._wandb.init(
            project=self._project, name=run.title, id=mark_of(run), resume="allow", config=run.config
        )

    def log(self, facts: Mapping[str, float], round: int) -> None:
        """Every number, at the step that the round is."""
        self._run.log(dict(facts), step=round)

    def end(self, state: str) -> None:
        """Say how it ended."""
        self._run.finish(exit_code=0 if state == "finished" else 1)
