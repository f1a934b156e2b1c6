"""Run a config of very many clients to its end, and again with a kill -9 in the middle and a resume; compare the bits.

    python benchmarks/scale/headline.py examples/million.toml --kill-after 50 --out benchmarks/results/million.json

Measured are wall and CPU seconds, the largest resident memory of all its processes together, sampled ten times a second,
and what the run says of itself. A smaller try: `--set split.clients=24000 --set rounds=6 ...`.
"""

import argparse
import hashlib
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from flockwise.metrics import adjusted_rand
from flockwise.store import open_run


def resident(process: int) -> int:
    """Bytes of memory that a process and its children hold; what they share counts once (proportional set size)."""
    total = 0
    for each in [process, *_children(process)]:
        try:
            lines = Path(f"/proc/{each}/smaps_rollup").read_text(encoding="ascii").splitlines()
            total += next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
        except (OSError, StopIteration, ProcessLookupError):
            continue
    return total


def _children(process: int) -> list[int]:
    try:
        found = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii").split()
    except OSError:
        return []
    return [int(child) for child in found]


def measured(command: list[str], kill_after: int | None = None, run: Path | None = None) -> dict[str, Any]:
    """Carry a command out, killed as soon as a run has so many rounds on record."""
    started = time.perf_counter()
    before = os.times()
    process = subprocess.Popen(command)
    peak, over = [0], threading.Event()

    def watch() -> None:
        while not over.wait(0.1):
            peak[0] = max(peak[0], resident(process.pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    while process.poll() is None:
        time.sleep(0.5)
        if kill_after is not None and run is not None and _rounds(run) >= kill_after:
            process.send_signal(signal.SIGKILL)
            process.wait()
    over.set()
    watcher.join()
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return {
        "seconds": round(time.perf_counter() - started, 1), "cpu_seconds": round(cpu, 1),
        "peak_memory": peak[0], "exit": process.returncode,
    }  # fmt: skip


def _rounds(run: Path) -> int:
    try:
        return int(max(open_run(run).rounds, default=0))
    except Exception:
        return 0  # it has not begun


def fingerprint(run: Path) -> str:
    """A digest over the last state, and every fact and flock on record but for times."""
    found, mark = open_run(run), hashlib.blake2b(digest_size=16)
    state = found.checkpoint()
    for name in ("round", "models", "labels", "apart"):
        mark.update(state[name].tobytes())
    for name, values in sorted(found.facts.items()):
        mark.update(name.encode() + values.tobytes())
    for name in ("flock", "trained"):
        for round, values in found.each(name):
            mark.update(f"{name} {round}".encode() + values.tobytes())
    return mark.hexdigest()


def facts_of(run: Path) -> dict[str, Any]:
    """What the run says of itself: flocks, ARI, accuracy with its interval, who was heard."""
    found = open_run(run)
    heard: Any = None
    for _, trained in found.each("trained"):
        heard = trained if heard is None else heard | trained
    wanted = (
        "flocks",
        "ari",
        "purity",
        "accuracy",
        "accuracy_low",
        "accuracy_high",
        "tested",
        "detection_recall",
    )
    looked = found.facts["separation"] == found.facts["separation"] if "separation" in found.facts else []
    first = int(looked.argmax()) if len(looked) else -1
    return {
        "clients": len(found.clients), "rounds": len(found.rounds), "heard": int(heard.sum()),
        "at_the_end": {name: float(found.facts[name][-1]) for name in wanted if name in found.facts},
        "when_flocks_were_found": {
            "round": int(found.rounds[first]),
            **{name: float(found.facts[name][first]) for name in ("ari", "flocks") if name in found.facts},
        },
        "honest": _honest(found), "record_bytes": (run / "run.sqlite").stat().st_size,
    }  # fmt: skip


def _honest(found: Any) -> dict[str, float]:
    """How right the flocks of honest clients are, and how many attackers are in flocks that are mostly honest."""
    *_, (_, flock) = found.each("flock")
    truth, lies = found.client_column("truth"), found.client_column("attacker").astype(bool)
    placed = flock >= 0
    members, liars = np.bincount(flock[placed]), np.bincount(flock[placed & lies], minlength=flock.max() + 1)
    mixed = (2 * liars < members)[np.maximum(flock, 0)] & placed & lies
    return {
        "ari": adjusted_rand(flock[placed & ~lies], truth[placed & ~lies]), "placed": int((placed & ~lies).sum()),
        "attackers_placed": int((placed & lies).sum()), "attackers_in_honest_flocks": int(mixed.sum()),
    }  # fmt: skip


def main() -> None:
    """Both runs, and what came of them, as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("config", type=Path)
    parser.add_argument("--kill-after", type=int, default=0, help="rounds before the kill; 0: no second run")
    parser.add_argument("--set", action="append", default=[], dest="overrides")
    parser.add_argument(
        "--runs", type=Path, help="where the run directories go (default: a temporary folder)"
    )
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    folder = asked.runs or Path(tempfile.mkdtemp(prefix="flockwise-headline-"))
    flockwise = str(Path(sys.executable).with_name("flockwise"))
    whole, killed = folder / "whole", folder / "killed"
    said = [part for override in asked.overrides for part in ("--set", override)]
    start = [flockwise, "run", str(asked.config), "-q", *said, "--out"]
    result: dict[str, Any] = {
        "config": str(asked.config), "overrides": asked.overrides, "cores": os.cpu_count(),
        "python": platform.python_version(), "load": os.getloadavg(),
        "whole": measured([*start, str(whole)]), **facts_of(whole), "fingerprint": fingerprint(whole),
    }  # fmt: skip
    asked.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    if asked.kill_after:
        result["killed"] = measured([*start, str(killed)], asked.kill_after, killed)
        result["killed_at"] = _rounds(killed)
        result["resumed"] = measured([flockwise, "resume", str(killed), "-q"])
        result["same_bits"] = fingerprint(killed) == result["fingerprint"]
        asked.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
