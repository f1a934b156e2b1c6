"""The kill matrix of a Flower deployment: SuperLink, ServerApp and SuperNode, each killed at so many moments of a run.

    python -m tests.reliability.kill_matrix --moments 20        # all 60; hours; goes on where it was

A deployment with TLS and keys runs an app of two clinics under `supervise`. What is killed with SIGKILL is started again
as the units of docs/flower.md would do it (`Restart=always`), and nobody else touches anything. A trial holds if the run
ends `finished`, with every byte of its final state that of the same app in one process. The supervisor itself is started
once, by nobody again.
"""

import argparse
import contextlib
import hashlib
import json
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import numpy as np

from flockwise.errors import EngineError, RunError
from flockwise.flower import Flocks, supervise
from flockwise.flower.deployment import Deployment, alive
from flockwise.store import Run, open_run
from flockwise.studies.surroundings import surroundings
from tests.flower.fake_grid import FakeGrid, FakeNode

APP = Path(__file__).parents[2] / "examples" / "flower"
KINDS = ("superlink", "serverapp", "supernode")
NODES, ROUNDS, WARMUP = 2, 4, 2
NODE_PAUSE = 15.0  # RestartSec of a node's unit
_OPTIONS = json.dumps({"warmup": WARMUP, "quorum": 1.0})


def final_hash(run: Run) -> str:
    """Every array of the final state."""
    mark = hashlib.sha256()
    for name, array in sorted(run.checkpoint().items()):
        mark.update(f"{name}{array.dtype.str}{array.shape}".encode() + np.ascontiguousarray(array).tobytes())
    return mark.hexdigest()


def undisturbed(path: Path) -> str:
    """The same app in this process, without any network."""
    sys.path.insert(0, str(APP))
    try:
        from clinics import client, server
    finally:
        sys.path.remove(str(APP))
    grid = FakeGrid([FakeNode(p, client.app, name=f"node-{p}") for p in range(NODES)])
    flocks = Flocks("flic", clients=NODES, run=path, warmup=WARMUP, quorum=1.0, evaluate_every=0)
    flocks.start(grid, server.first_model(), num_rounds=ROUNDS)
    return final_hash(open_run(path))


@dataclass
class Kept:
    """A deployment whose processes are started again when they die, as systemd would."""

    deployment: Deployment
    restarted: list[str] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> "Kept":
        self.deployment.up(NODES, wait=300)
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self.deployment.down()

    def _watch(self) -> None:
        due: dict[str, float] = {}
        while not self._over.wait(0.2):
            for name, process in self.deployment.processes.items():
                if alive(process):
                    due.pop(name, None)
                elif time.monotonic() >= due.setdefault(
                    name, time.monotonic() + (0.1 if name == "superlink" else NODE_PAUSE)
                ):
                    del due[name]
                    self.restarted.append(name)
                    self._clear_away(process["pid"])
                    if name == "superlink":
                        self.deployment.start_superlink()
                    else:
                        self.deployment.start_node(int(name.removeprefix("node-")), NODES)

    def _clear_away(self, leader: int) -> None:
        """End what a dead process has left behind, as systemd does with what is left in a unit."""
        for pid in self.deployment._marked():
            with contextlib.suppress(OSError, IndexError):
                session = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[3])
                if session == leader:
                    os.kill(pid, signal.SIGKILL)


@dataclass
class Submitted(threading.Thread):
    """The app under its supervisor, in the background."""

    deployment: Deployment
    path: Path
    said: list[str] = field(default_factory=list)
    found: Run | None = None
    error: BaseException | None = None

    def __post_init__(self) -> None:
        super().__init__(daemon=True)
        self.start()

    __hash__ = threading.Thread.__hash__

    def run(self) -> None:
        settings = (
            f'run="{self.path}" strategy="flic" options=\'{_OPTIONS}\' rounds={ROUNDS} timeout=400 '
            f"clients={NODES} evaluate-every=0"
        )
        try:
            self.found = supervise(
                APP, "local", self.path, run_config=settings, home=self.deployment.home, say=self.said.append
            )
        except BaseException as error:
            self.error = error

    def rounds(self) -> int:
        try:
            return len(open_run(self.path).rounds)
        except RunError:
            return 0

    def until(self, rounds: int, seconds: float) -> float:
        """Wait until so many rounds are closed, and then a little longer; how long it took."""
        began = time.monotonic()
        while self.is_alive() and self.rounds() < rounds:
            time.sleep(0.05)
        time.sleep(seconds)
        return time.monotonic() - began


def kill(kind: str, kept: Kept, job: Submitted, moment: int) -> bool:
    """Kill -9; False if there was nothing to kill any more."""
    if kind == "superlink":
        os.kill(kept.deployment.processes["superlink"]["pid"], signal.SIGKILL)
        return True
    if kind == "supernode":
        os.killpg(kept.deployment.processes[f"node-{moment % NODES}"]["pid"], signal.SIGKILL)
        return True
    while job.is_alive():  # the ServerApp may not be there yet
        for pid in _serverapps(kept.deployment):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                return True
        time.sleep(0.05)
    return False


def _serverapps(deployment: Deployment) -> Iterator[int]:
    for pid in deployment._marked():
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            if any(word.endswith(b"flwr-serverapp") for word in words[:2]):
                yield pid


def trial(
    kept: Kept, kind: str, moment: int, moments: int, pace: float, path: Path, expected: str
) -> dict[str, object]:
    """One run that is disturbed once; what came of it."""
    began, kept.restarted[:] = time.monotonic(), []
    while not _all_online(kept.deployment):  # the last trial may have left one on its way back
        time.sleep(1.0)
    job = Submitted(kept.deployment, path)
    place = (moment + 0.5) / moments * ROUNDS  # in rounds, from the beginning of the run
    job.until(int(place), (place - int(place)) * pace)
    closed, killed = job.rounds(), job.is_alive() and kill(kind, kept, job, moment)
    job.join(900)
    found = final_hash(job.found) if job.found is not None and job.found.state == "finished" else ""
    return {
        "held": killed and found == expected, "killed": killed, "rounds_closed": closed, "hash": found[:16],
        "seconds": round(time.monotonic() - began, 1), "started_again": list(kept.restarted),
        "submitted": sum(line.startswith("submitted") for line in job.said),
        "asked_again": sum("asked again" in line for line in job.said),
        "error": "" if job.error is None else str(job.error)[:300],
    }  # fmt: skip


def _all_online(deployment: Deployment) -> bool:
    with contextlib.suppress(EngineError):
        return deployment.online() >= NODES
    return False


def matrix(
    kinds: list[str], moments: list[int], of: int, out: Path | None = None, before: Sequence[Path] = ()
) -> dict[str, dict[str, object]]:
    """All these trials on one deployment; those in `out` or `before` are not done again."""
    trials = _trials(out)
    earlier = {
        name: trial
        for path in before
        for name, trial in _trials(path).items()
        if trial["held"] and not trial.get("supervisor_again")  # nobody may start a supervisor again
    }
    with tempfile.TemporaryDirectory(prefix="flockwise-kills-") as folder:
        root = Path(folder)
        expected = undisturbed(root / "here")
        with Kept(Deployment(root / "deployment")) as kept:
            first = Submitted(kept.deployment, root / "first")
            first.until(1, 0.0)
            pace = first.until(ROUNDS, 0.0) / (ROUNDS - 1)  # seconds a round, undisturbed
            first.join(900)
            assert first.found is not None and final_hash(first.found) == expected, (first.said, first.error)
            for moment in moments:
                for kind in kinds:
                    name = f"{kind} {moment + 1}/{of}"
                    if {**earlier, **trials}.get(name, {}).get("killed"):
                        continue
                    trials[name] = trial(kept, kind, moment, of, pace, root / f"{kind}-{moment}", expected)
                    if out:
                        _write(out, trials, expected, of)
    return trials


def _trials(path: Path | None) -> dict[str, dict[str, object]]:
    return dict(json.loads(path.read_text())["trials"]) if path and path.exists() else {}


def _write(out: Path, trials: dict[str, dict[str, object]], expected: str, of: int) -> None:
    counts = {
        kind: [sum(bool(trials[name]["held"]) for name in of_it), len(of_it)]
        for kind in KINDS
        if (of_it := [name for name in trials if name.startswith(kind) and trials[name]["killed"]])
    }
    content = {
        "command": f"python -m tests.reliability.kill_matrix --moments {of}", "done": len(trials), "of": len(KINDS) * of,
        "date": datetime.now(UTC).date().isoformat(), "flower": version("flwr"), "expected": expected[:16],
        "commit": surroundings(1)["commit"], "held, of": counts, "trials": trials,
    }  # fmt: skip
    temporary = out.with_suffix(".tmp")
    temporary.write_text(json.dumps(content, indent=1) + "\n")
    temporary.replace(out)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description="Kill parts of a Flower deployment, and see whether runs end the same."
    )
    parser.add_argument("--moments", type=int, default=20)
    parser.add_argument("--only", choices=KINDS, nargs="*", default=list(KINDS))
    parser.add_argument("--some", type=int, nargs="*", help="of the moments, counted from 0")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/flower_kills.json"))
    parser.add_argument(
        "--after", type=Path, nargs="*", default=[], help="results; what held there is not done again"
    )
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the deployment is taken down on the way out
    done = matrix(asked.only, asked.some or list(range(asked.moments)), asked.moments, asked.out, asked.after)
    print(f"{sum(bool(t['held']) for t in done.values())} of {len(done)} held")
