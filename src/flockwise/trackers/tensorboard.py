"""TensorBoard: an event file that grows with the run."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flockwise.export.extras import library
from flockwise.store import Run
from flockwise.trackers.contract import Tracker


class TensorBoard(Tracker):
    """Scalars by round below FOLDER/name-of-the-run; rounds that are trained again replace what was there."""

    name = "tensorboard"

    def __init__(self, folder: str | Path) -> None:
        super().__init__()
        library("tensorboard", "tensorboard")
        self._writers = library("torch.utils.tensorboard", "tensorboard")
        self._folder = Path(folder)
        self._writer: Any = None

    def begin(self, run: Run, first: int) -> None:
        """Open the event file."""
        self._writer = self._writers.SummaryWriter(str(self._folder / run.path.name), purge_step=first)
        self._writer.add_text("config", f"```json\n{json.dumps(run.config, indent=2, default=str)}\n```")

    def log(self, facts: Mapping[str, float], round: int) -> None:
        """Every number as a scalar."""
        for name, value in facts.items():
            self._writer.add_scalar(name, value, round)
        self._writer.flush()

    def end(self, state: str) -> None:
        """Close the event file."""
        self._writer.close()
