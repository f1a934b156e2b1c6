"""What the papers' CNN with 100 clients costs beside training: testing every client, and memory."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w
from processes import family, memory_of

from flockwise.config import parse_config
from flockwise.messages import Plan, Task
from flockwise.runs.assembly import assemble
from flockwise.runs.evaluating import rounds_between

MEMORY_RUNS: dict[str, dict[str, Any]] = {
    "FedAvg, 10 of 100 clients a round": {"rounds": 3},
    "FL+HC, all 100 clients in its second round": {
        "rounds": 3,
        "strategy": {"name": "fl-hc", "rounds_before": 1},
    },
}


def evaluation(
    content: dict[str, Any], data: Path, flocks: int, trained: int, epochs: int, repetitions: int
) -> dict[str, Any]:
    """Seconds to train so many clients, and to test all of them after everything, one flock or nothing changed.

    Clients are spread evenly over flocks, and every flock trains in every round.
    """
    content = {**content, "training": {**content["training"], "epochs": epochs}}
    parts = assemble(parse_config(content), data=data)
    engine, clients = parts.engine, parts.federation.clients
    models = np.repeat(parts.server.state.models[:1], flocks, axis=0)
    flock_of, rng = np.arange(clients) % flocks, np.random.default_rng(0)
    seconds: dict[str, list[float]] = {"train": [], "all": [], "one flock": [], "nothing": []}
    for round in range(1, repetitions + 2):
        chosen = [
            rng.choice(np.flatnonzero(flock_of == flock), trained // flocks, replace=False)
            for flock in range(flocks)
        ]
        tasks = [
            Task(int(client), (flock,)) for flock, members in enumerate(chosen) for client in members.tolist()
        ]
        began = time.perf_counter()
        replies = engine.train(Plan(round, "train", models, tuple(tasks)))
        for flock in range(flocks):
            models[flock] += replies.updates[flock_of[replies.clients] == flock].mean(axis=0)
        took = {"train": time.perf_counter() - began}
        for changed in ("all", "nothing", "one flock"):
            if changed == "one flock":
                models[0] *= np.float32(1.000001)
            began = time.perf_counter()
            engine.evaluate(round, models, flock_of)
            took[changed] = time.perf_counter() - began
        for name in took if round > 1 else ():  # the first round brings everything into memory
            seconds[name].append(took[name])
    engine.close()
    return {
        "flocks": flocks, "trained_clients": trained, "epochs": epochs, "tested_clients": clients, "seconds": seconds,
        "trained_samples": int(replies.samples.sum()),
        "tested_every": rounds_between("auto", parts.work, trained / clients, 100),  # in a run of 100 rounds
        "tested_samples": sum(len(shard.test) for shard in parts.federation.shards),
    }  # fmt: skip


def memory(content: dict[str, Any], data: Path) -> dict[str, dict[str, float]]:
    """Peak memory of `flockwise run`, in bytes: PSS summed over its processes, so shared pages count once."""
    return {name: _peak({**content, **more}, data) for name, more in MEMORY_RUNS.items()}


def _peak(content: dict[str, Any], data: Path) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "config.toml"
        config.write_text(tomli_w.dumps(content))
        command = [sys.executable, "-m", "flockwise", "run", str(config), "--quiet"]
        command += ["--data", str(data), "--out", str(Path(folder) / "run")]
        began = time.perf_counter()
        process = subprocess.Popen(command)
        peak = {"pss": 0.0, "rss": 0.0, "processes": 0.0}
        while process.poll() is None:
            sizes = [size for pid in family(process.pid) if (size := memory_of(pid))]
            peak["pss"] = max(peak["pss"], sum(size["Pss"] for size in sizes))
            peak["rss"] = max(peak["rss"], sum(size["Rss"] for size in sizes))
            peak["processes"] = max(peak["processes"], len(sizes))
            time.sleep(0.05)
        if process.returncode:
            raise RuntimeError(f"flockwise run ended with {process.returncode}")
        return {**peak, "seconds": time.perf_counter() - began}
