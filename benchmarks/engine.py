"""Whole rounds on this machine: the plain loop, our two paths, and peers, on the same work in the same run.

    python benchmarks/engine.py --data DIR [--quick] [--json FILE] [--markdown FILE]

Workload A: the papers' CNN, 100 clients with 600 MNIST digits, 10 a round, batch 10, one epoch.
Workload B: softmax regression, 1000 clients with 60 digits, 10 a round, batch 10, one epoch.
The plain loop is what frameworks do (DataLoader, torch.optim.SGD), with its clients spread over as many
processes as there are cores. Evaluation is outside the timed rounds, except in the last line of B, which is a
whole `flockwise run`: every client tested every round, the run store, the default checkpoint policy. Flower's
simulation takes part if Ray is installed (`pip install "flwr[simulation]==1.41.0" -c constraints.txt`).
"""

import argparse
import importlib.util
import json
import multiprocessing
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

import flockwise
from flockwise.config import parse_config
from flockwise.engine.local import available_cores
from flockwise.models import Layout
from flockwise.simulation.assembly import assemble, make_workbench

A = {
    "data": {"name": "mnist"},
    "split": {"name": "iid", "clients": 100, "validation": 0},
    "model": {"name": "cnn"},
    "training": {"epochs": 1, "batch_size": 10, "learning_rate": 0.01},
    "sampling": {"fraction": 0.1},
}
B = {
    **A,
    "split": {"name": "iid", "clients": 1000, "validation": 0},
    "model": {"name": "softmax"},
    "training": {"epochs": 1, "batch_size": 10, "learning_rate": 0.03},
    "sampling": {"fraction": 0.01},
}


def plain_rounds(content: dict[str, Any], data: Path) -> Iterator[float]:
    """FedAvg as frameworks do it; yields the accuracy after each round (not timed by the caller)."""
    config = parse_config(content)
    bench = make_workbench(config, None, data)
    layout = Layout.of(bench.module)
    images = {c: bench.data(c, "train", 1) for c in range(bench.federation.clients)}
    tensors = {
        c: (torch.from_numpy(x).permute(0, 3, 1, 2).contiguous(), torch.from_numpy(y))
        for c, (x, y) in images.items()
    }
    recipe = bench.recipe

    def client(vector: np.ndarray, number: int) -> np.ndarray:
        layout.write(bench.module, vector)
        loader = DataLoader(TensorDataset(*tensors[number]), batch_size=recipe.batch_size, shuffle=True)
        optimiser = torch.optim.SGD(bench.module.parameters(), lr=recipe.learning_rate)
        bench.module.train()
        for _ in range(recipe.epochs):
            for x, y in loader:
                optimiser.zero_grad()
                functional.cross_entropy(bench.module(x), y).backward()
                optimiser.step()
        return layout.read(bench.module)

    def work(pipe: Any) -> None:
        torch.set_num_threads(1)
        while (job := pipe.recv()) is not None:
            vector, numbers = job
            pipe.send([client(vector, number) for number in numbers])

    context = multiprocessing.get_context("fork")
    pipes, cores = [], available_cores()
    for _ in range(cores):
        here, there = context.Pipe()
        context.Process(target=work, args=(there,), daemon=True).start()
        pipes.append(here)
    rng = np.random.default_rng(0)
    vector = layout.read(bench.module)
    count = max(round(config.sampling.fraction * bench.federation.clients), 1)
    try:
        while True:
            chosen = rng.choice(bench.federation.clients, count, replace=False)
            for pipe, part in zip(pipes, np.array_split(chosen, cores), strict=True):
                pipe.send((vector, part.tolist()))
            vector = np.mean(
                [model for pipe in pipes for model in pipe.recv()], axis=0, dtype=np.float64
            ).astype(np.float32)
            yield float("nan")
    finally:
        for pipe in pipes:
            pipe.send(None)
        accuracies.append(_accuracy(bench, vector))


accuracies: list[float] = []  # of the last model of each way: proof that the work was the same


def our_rounds(content: dict[str, Any], data: Path, path: str) -> Iterator[float]:
    """Train and aggregate with our server and engine."""
    parts = assemble(parse_config({**content, "rounds": 10**6, "engine": {"path": path}}), data=data)
    try:
        while True:
            parts.server.tell(parts.engine.train(parts.server.ask()))
            yield float("nan")
    finally:
        parts.engine.close()
        accuracies.append(_accuracy(parts.engine._bench, parts.server.state.models[0]))  # type: ignore[attr-defined]


def _accuracy(bench: Any, vector: np.ndarray) -> float:
    x, y = bench.federation.official_test()
    return float(bench._trainer.losses(vector, x, y)[1] / len(y))


def timed(start: Callable[[], Iterator[float]], rounds: int) -> dict[str, float]:
    """Seconds a round (wall, median), start-up until the first round is done, accuracy after the last."""
    began = time.perf_counter()
    ways = start()
    next(ways)
    startup = time.perf_counter() - began
    seconds = []
    for _ in range(rounds):
        began = time.perf_counter()
        next(ways)
        seconds.append(time.perf_counter() - began)
    ways.close()  # type: ignore[attr-defined]
    return {
        "seconds": float(np.median(seconds)),
        "best": min(seconds),
        "startup": startup,
        "accuracy": accuracies[-1],
    }


def whole_run(content: dict[str, Any], data: Path, rounds: int) -> dict[str, float]:
    """`flockwise run` with metrics every round, run store and checkpoints."""
    folder, stamps = tempfile.mkdtemp(), []
    began = time.perf_counter()
    run = flockwise.run(
        {**content, "rounds": rounds},
        out=Path(folder) / "run",
        data=data,
        on_round=lambda _: stamps.append(time.perf_counter()),
    )
    seconds, accuracy = np.diff(stamps), float(run.facts["accuracy"][-1])
    shutil.rmtree(folder)
    return {"seconds": float(np.median(seconds)), "best": float(seconds.min()), "startup": stamps[0] - began,
            "accuracy": accuracy}  # fmt: skip


def flower_rounds(content: dict[str, Any], data: Path, rounds: int) -> dict[str, float] | None:
    """Flower's own FedAvg in its Ray simulation, on the same clients; None where Ray is not installed."""
    if importlib.util.find_spec("ray") is None or importlib.util.find_spec("flwr") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "config.json"
        file.write_text(json.dumps(content))
        peer = Path(__file__).with_name("flower_peer.py")
        command = [sys.executable, str(peer), str(file), str(data), str(rounds)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    found = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    if not found:
        print(f"Flower did not finish: {done.stderr[-300:]}", file=sys.stderr)
        return None
    result: dict[str, float] = json.loads(found[0].removeprefix("RESULT "))
    return result


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("FLOCKWISE_DATA"), help="where MNIST lies"
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    heavy, light = (3, 60) if options.quick else (8, 300)
    results: dict[str, dict[str, Any]] = {}
    for name, content, rounds in (("A", A, heavy), ("B", B, light)):
        rows: dict[str, Any] = {
            "plain loop": timed(lambda c=content: plain_rounds(c, options.data), rounds),
            "ours, generic path": timed(lambda c=content: our_rounds(c, options.data, "generic"), rounds),
            "ours, native path": timed(lambda c=content: our_rounds(c, options.data, "native"), rounds),
        }
        if flower := flower_rounds(content, options.data, max(rounds // 10, 3)):
            rows["Flower 1.41 simulation"] = flower
        if name == "B":
            rows["ours, whole run with metrics and store"] = whole_run(content, options.data, rounds)
        results[name] = rows
        print(table(name, rows), flush=True)
    about = {
        "command": "python benchmarks/engine.py --data DIR" + (" --quick" if options.quick else ""),
        "date": time.strftime("%Y-%m-%d"), "cores": available_cores(),
        "cpu": _cpu(), "load": os.getloadavg()[0],
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "results": results,
    }  # fmt: skip
    if options.json:
        options.json.write_text(json.dumps(about, indent=1) + "\n")
    if options.markdown:
        text = "\n\n".join(table(name, rows) for name, rows in results.items())
        head = f"`{about['command']}` on {about['date']}, {about['cpu']}, {about['cores']} cores, load {about['load']:.1f}."
        options.markdown.write_text(f"{head}\n\n{text}\n")


def table(name: str, rows: dict[str, Any]) -> str:
    """A Markdown table with ratios to the plain loop."""
    base = rows["plain loop"]["seconds"]
    lines = [
        f"Workload {name}\n",
        "| way | s a round | rounds/s | x plain loop | start-up s | accuracy |",
        "|---|---|---|---|---|---|",
    ]
    for way, row in rows.items():
        lines.append(
            f"| {way} | {row['seconds']:.4f} | {1 / row['seconds']:.1f} | {base / row['seconds']:.2f} | "
            f"{row['startup']:.1f} | {row['accuracy']:.3f} |"
        )
    return "\n".join(lines)


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []:
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


if __name__ == "__main__":
    main()
