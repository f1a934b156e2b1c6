"""A run as a person handles it: what it came to, its flocks, its models, its report."""

from collections.abc import Callable
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from flockwise.errors import InputError, RunError
from flockwise.numbers import number_of, shown
from flockwise.scoring import Scoring
from flockwise.stages.state import UNPLACED
from flockwise.store import Run as RecordedRun
from flockwise.store import list_runs as list_recorded
from flockwise.store.summary import client_summary, newest

if TYPE_CHECKING:
    from torch import nn

    from flockwise.runs.predicting import Predictions
    from flockwise.tasks import Task


class Run(RecordedRun):
    """A run directory: `run.metrics`, `run.flocks`, `run.model(flock=0)`, `run.report()`; read-only."""

    @cached_property
    def labels(self) -> np.ndarray:
        """The flock of each client in the last round on record; -1 for none."""
        found = newest(self, "flock")
        return np.zeros(0, dtype=np.int64) if found is None else found

    @property
    def flocks(self) -> dict[int, list[int]]:
        """The clients of each flock in the last round on record."""
        return {
            int(flock): np.flatnonzero(self.labels == flock).tolist()
            for flock in np.unique(self.labels[self.labels != UNPLACED])
        }

    @property
    def apart(self) -> list[int]:
        """The clients that are set apart."""
        found = newest(self, "apart")
        return [] if found is None else np.flatnonzero(found).tolist()

    @property
    def summary(self) -> list[dict[str, Any]]:
        """A row for each client: name, flock, state, accuracy, how often it trained, how many samples it has."""
        return client_summary(self)

    def model(
        self, client: int | str | None = None, *, flock: int | None = None, at: int | None = None,
        module: "nn.Module | Callable[[], nn.Module] | None" = None, data: str | Path | None = None,
    ) -> "nn.Module":  # fmt: skip
        """The trained model of a client (by number or name) or a flock; without either, the one most clients have."""
        from flockwise.runs.trained import load_model

        return load_model(self, client, module, flock=flock, at=at, data=data)

    def save_model(
        self, path: str | Path, client: int | str | None = None, *, flock: int | None = None, at: int | None = None,
        module: "nn.Module | Callable[[], nn.Module] | None" = None, data: str | Path | None = None,
    ) -> Path:  # fmt: skip
        """Write such a model, with a card that says what it is: .safetensors, .pt (TorchScript) or .onnx."""
        from flockwise.runs.saving import FORMATS, save

        if Path(path).suffix not in FORMATS:
            raise InputError(f"path = {str(path)!r}: must end in {', '.join(FORMATS)}")
        client = None if client is None else self.client_number(client)
        model = self.model(client, flock=flock, at=at, module=module, data=data)
        which = (
            f"client {client}"
            if client is not None
            else "most clients"
            if flock is None
            else f"flock {flock}"
        )
        return save(self, model, path, which, client, flock, at)

    def predict(
        self, x: Any, client: int | str | None = None, *, flock: int | None = None, at: int | None = None,
        module: "nn.Module | Callable[[], nn.Module] | None" = None, task: "Task | None" = None,
    ) -> "Predictions":  # fmt: skip
        """What such a model says of samples, given as clients hold them."""
        from flockwise.runs.predicting import predict

        return predict(self, self.model(client, flock=flock, at=at, module=module), x, task)

    def report(self, out: str | Path | None = None) -> Path:
        """Write the report, one HTML file that opens offline; where it is."""
        from flockwise.report import write_report

        return write_report([self.path], Path(out) if out is not None else None)

    def __repr__(self) -> str:
        return f"<Run {self.path}: {', '.join(self._story())}>"

    def _story(self) -> list[str]:
        """What it came to, in a few words."""
        done = int(self.rounds[-1]) if len(self.rounds) else 0
        told = [self.state, f"{done} of {self.goal or '?'} rounds"]
        score = self._last(self.scoring.name)
        if score is not None:
            told.append(f"{number_of(self.scoring.name).title} {shown(score)}")
        if len(self.rounds):
            count = len(self.flocks)
            told.append(f"{count} flock{'' if count == 1 else 's'}")
        if self.apart:
            told.append(f"{len(self.apart)} set apart")
        return told

    def _last(self, fact: str) -> float | None:
        values = self.facts.get(fact, np.zeros(0))
        finite = values[np.isfinite(values)]
        return float(finite[-1]) if len(finite) else None

    def _repr_html_(self) -> str:
        """For notebooks: the story, the curve, the flocks."""
        name = escape(self.title)
        method = escape(str(self.config.get("strategy", {}).get("name", "")))
        rows = "".join(
            f"<tr><td>flock {flock}</td><td>{len(members)}</td><td>{escape(_some(members))}</td></tr>"
            for flock, members in self.flocks.items()
        )
        if self.apart:
            rows += (
                f"<tr><td>set apart</td><td>{len(self.apart)}</td><td>{escape(_some(self.apart))}</td></tr>"
            )
        table = f"<table><tr><th></th><th>clients</th><th></th></tr>{rows}</table>" if rows else ""
        curve = _curve(self.facts.get(self.scoring.name), self.scoring)
        return (
            f"<div><b>{name}</b> ({method}): {escape(', '.join(self._story()))}<br>{curve}"
            f"{table}<small>{escape(str(self.path))}</small></div>"
        )


def open_run(path: str | Path) -> Run:
    """Open a run directory."""
    return Run(Path(path))


def list_runs(folder: str | Path = "runs") -> list[tuple[Path, Run | RunError]]:
    """Every run directory below a folder; a broken one comes with its error instead."""
    return [
        (path, found if isinstance(found, RunError) else Run(path)) for path, found in list_recorded(folder)
    ]


def _some(members: list[int], most: int = 12) -> str:
    return ", ".join(map(str, members[:most])) + (", …" if len(members) > most else "")


def _curve(values: Any, scoring: Scoring, width: int = 240, height: int = 48) -> str:
    """The score over the rounds as a small picture."""
    known = np.asarray(values if values is not None else [], dtype=float)
    seen = np.flatnonzero(np.isfinite(known))
    if len(seen) < 2:
        return ""
    across = seen / max(len(known) - 1, 1) * width
    low, high = (scoring.low, scoring.high) if scoring.share else (known[seen].min(), known[seen].max())
    share = (known[seen] - low) / (high - low if high > low else 1.0)
    down = height - np.clip(share, 0.0, 1.0) * (height - 2) - 1
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(across, down, strict=True))
    line = f'<polyline points="{points}" fill="none" stroke="#2a6f97" stroke-width="1.5"/>'
    label = f"{escape(scoring.name)} from {shown(known[seen[0]])} to {shown(known[seen[-1]])}"
    return f'<svg width="{width}" height="{height}" role="img" aria-label="{label}">{line}</svg>'
