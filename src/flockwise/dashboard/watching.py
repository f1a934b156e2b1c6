"""Reading runs that may be half-written, broken or newer, without ever failing for it."""

import json
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from flockwise.numbers import number_of
from flockwise.report import describe_comparison, describe_run
from flockwise.report.encoding import number, numbers, plain, whole
from flockwise.report.scores import score_range
from flockwise.store import Run, open_run
from flockwise.store.files import is_locked
from flockwise.store.requests import pending

MOST_KEPT = 6  # descriptions held in memory


@dataclass
class Watch:
    """The runs in a folder (or the one run that the folder is)."""

    folder: Path
    _kept: OrderedDict[str, tuple[str, bytes]] = field(default_factory=OrderedDict)
    _summaries: dict[str, tuple[str, dict[str, Any]]] = field(default_factory=dict)
    _states: dict[str, str] = field(default_factory=dict)
    _cost: dict[str, float] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def paths(self) -> dict[str, Path]:
        """Every run by its name; names are those of directories, so nothing else can be asked for."""
        if (self.folder / "config.toml").is_file():
            return {_address(self.folder.resolve()): self.folder}
        try:
            found = sorted(self.folder.glob("*/config.toml"))
            return {_address(config.parent): config.parent for config in found}
        except OSError:
            return {}

    def summaries(self) -> list[dict[str, Any]]:
        """A line about each run, the newest first; a broken one with what is wrong."""
        found = [self._summary(name, path) for name, path in self.paths().items()]
        return sorted(found, key=lambda one: (one["created"], one["id"]), reverse=True)

    def stamp(self, name: str | None) -> str:
        """Changes when the run (or, for None, any run) does."""
        paths = self.paths()
        if name is not None:
            return self._stamp(name, paths[name]) if name in paths else "gone"
        return "|".join(f"{one}:{self._stamp(one, path)}" for one, path in paths.items())

    def _stamp(self, name: str, path: Path, files: str | None = None) -> str:
        # Only a run last seen running can have lost its process; asking for the lock of others might hinder them.
        alive = is_locked(path) if self._states.get(name) == "running" else None
        return f"{alive}/{files or _stamp(path)}"

    def _summary(self, name: str, path: Path) -> dict[str, Any]:
        files = _stamp(path)  # before reading: what changes meanwhile is read again
        if name not in self._summaries or self._summaries[name][0] != self._stamp(name, path, files):
            found = _summary(name, path)
            self._states[name] = found["state"]
            self._summaries[name] = (self._stamp(name, path, files), found)
        return self._summaries[name][1]

    def pause(self, name: str | None) -> float:
        """Seconds to wait between two looks, so that describing a large run is not all we do."""
        return max(0.5, 3 * self._cost.get(name or "", 0.0))

    def description(self, name: str) -> bytes:
        """The run as the page reads it; if it cannot be read, why."""
        path = self.paths()[name]
        with self._lock:
            files = _stamp(path)
            if name in self._kept and self._kept[name][0] == self._stamp(name, path, files):
                return self._kept[name][1]
            started = time.perf_counter()
            try:
                shown = {"run": {**describe_run(open_run(path)), "pending": pending(path)}}
            except Exception as error:  # whatever a run holds, the others are shown
                return json.dumps({"error": _line(error, path)}).encode()
            self._states[name] = shown["run"]["state"]
            content = json.dumps(plain(shown), separators=(",", ":")).encode()
            self._cost[name] = time.perf_counter() - started
            self._kept[name] = (self._stamp(name, path, files), content)
            self._kept.move_to_end(name)
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
            return content

    def comparison(self, names: list[str]) -> dict[str, Any]:
        """Several runs side by side, each once however often it is named; those that cannot be read are left out."""
        paths, runs = self.paths(), []
        for name in dict.fromkeys(names):
            try:
                run = open_run(paths[name])
                describe_comparison([run])  # now, so that a broken one fails here
                runs.append(run)
            except Exception:  # as above
                continue
        if not runs:
            return {"error": "none of these runs can be read"}
        found: dict[str, Any] = plain({"comparison": describe_comparison(runs)})
        return found


def _address(path: Path) -> str:
    """A directory's name; bytes in it that are no UTF-8 are spelt out, for no browser could ask for them."""
    return path.name.encode("utf-8", "backslashreplace").decode()


def _stamp(path: Path) -> str:
    parts = []
    for name in ("config.toml", "run.sqlite", "run.sqlite-wal", "requests"):
        try:
            found = (path / name).stat()
        except OSError:
            continue
        if found.st_size:  # a reader may leave an empty journal behind, which is no news
            parts.append(f"{found.st_mtime_ns}.{found.st_size}")
    return "/".join(parts)


def _summary(name: str, path: Path) -> dict[str, Any]:
    empty = {
        "id": name,
        "name": name,
        "created": "",
        "state": "unreadable",
        "error": "",
        "damage": "",
        "rounds": 0,
    }
    try:
        return {**empty, **_read_summary(open_run(path))}
    except Exception as error:  # whatever a run holds, the others are shown
        return {**empty, "error": _line(error, path)}


def _read_summary(run: Run) -> dict[str, Any]:
    facts, config = run.facts, run.config
    scoring = run.scoring
    scores = facts.get(scoring.name, np.zeros(0))
    rows = np.unique(np.rint(np.linspace(0, max(len(scores) - 1, 0), 60)).astype(int))[: len(scores)]
    low, high = score_range(scoring, scores)
    last = {key: _newest(facts.get(key)) for key in ("accuracy", "flocks", "apart", "participants")}
    damage = run.glance()
    return {
        "name": run.title, "created": run.about.get("created", ""), "state": run.state,
        "strategy": str(config.get("strategy", {}).get("name", "")), "planned": whole(run.goal),
        "rounds": int(run.rounds[-1]) if len(run.rounds) else 0, "clients": len(run.clients),
        "seconds": number(float(run.seconds.sum()), 4), "curve": numbers((scores[rows] - low) / (high - low), 3),
        "score": _newest(scores), "scored": number_of(scoring.name).title,
        "metric": scoring.name, "better": scoring.better,
        "parent": "" if run.parent is None else f"{Path(run.parent[0]).name}, round {run.parent[1]}",
        "damage": "; ".join(damage), "damaged": int(bool(damage)), "changed": _changed(run.path),
        "rejected": whole(float(np.nansum(facts.get("rejected", np.zeros(0))))), **last,
    }  # fmt: skip


def _changed(path: Path) -> float:
    """When the record last changed, as a time of the system."""
    times = [file.stat().st_mtime for file in (path / "run.sqlite", path / "run.sqlite-wal") if file.exists()]
    return round(max(times, default=0.0), 3)


def _newest(values: np.ndarray | None) -> float | int | None:
    seen = values[np.isfinite(values)] if values is not None else np.zeros(0)
    return number(float(seen[-1]), 4) if len(seen) else None


def _line(error: BaseException, path: Path) -> str:
    told = str(error).replace(f"{path}/", "").replace(f"{path}: ", "").strip()
    return told.splitlines()[0][:300] if told else type(error).__name__
