"""What Flockwise costs on Flower: CPU time of a round in simulation, against Flower's own FedAvg on the same work.

    python benchmarks/flower/overhead.py --rounds 12

Ten clients train a small CNN with torch on one machine. Both strategies run in a fresh process, in turn; CPU time is
that of the whole process tree (driver and Ray workers) between the end of round 2 and the end of the last round.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CLIENTS, SAMPLES = 10, 200


def client_app():
    """A PyTorch ClientApp that knows nothing of Flockwise."""
    from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
    from flwr.clientapp import ClientApp

    app = ClientApp()

    @app.train()
    def train(message: Message, context: Context) -> Message:
        import torch

        torch.set_num_threads(1)
        generator = torch.Generator().manual_seed(int(context.node_config["partition-id"]))
        x = torch.randn(SAMPLES, 1, 28, 28, generator=generator)
        y = torch.randint(10, (SAMPLES,), generator=generator)
        model = network()
        model.load_state_dict(message.content["arrays"].to_torch_state_dict())
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for start in range(0, SAMPLES, 10):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x[start : start + 10]), y[start : start + 10])
            loss.backward()
            optimizer.step()
        metrics = MetricRecord({"num-examples": SAMPLES, "train_loss": loss.item()})
        return Message(
            RecordDict({"arrays": ArrayRecord(model.state_dict()), "metrics": metrics}), reply_to=message
        )

    return app


def network():
    """A CNN of 46 thousand parameters."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 16, 5), nn.MaxPool2d(2), nn.ReLU(), nn.Conv2d(16, 32, 5), nn.MaxPool2d(2), nn.ReLU(),
        nn.Flatten(), nn.Linear(512, 64), nn.ReLU(), nn.Linear(64, 10),
    )  # fmt: skip


def tree_cpu() -> float:
    """Seconds of CPU that this process and everything below it has used so far."""
    parents, used = {}, {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(entry.name)] = int(fields[1])
        used[int(entry.name)] = sum(map(int, fields[11:15]))
    ours = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return sum(used[pid] for pid in ours) / os.sysconf("SC_CLK_TCK")


def measure(which: str, rounds: int) -> dict[str, float]:
    """One simulation in this process."""
    from flwr.app import ArrayRecord, Context, MetricRecord
    from flwr.serverapp import Grid, ServerApp
    from flwr.serverapp.strategy import FedAvg
    from flwr.simulation import run_simulation

    from flockwise.flower import Flocks
    from flockwise.server import Server

    marks: dict[int, tuple[float, float]] = {}
    steps: list[float] = []
    tell = Server.tell

    def timed(self, replies):
        started = time.thread_time()  # wall time would count the simulation's other threads
        try:
            return tell(self, replies)
        finally:
            steps.append(time.thread_time() - started)

    Server.tell = timed

    def note(server_round: int, arrays: ArrayRecord) -> MetricRecord:
        marks[server_round] = (tree_cpu(), time.perf_counter())
        return MetricRecord({"none": 0})

    server = ServerApp()

    @server.main()
    def main(grid: Grid, context: Context) -> None:
        first = ArrayRecord(network().state_dict())
        if which == "fedavg":
            strategy = FedAvg(fraction_evaluate=0.0, min_available_nodes=CLIENTS)
            strategy.start(grid, first, num_rounds=rounds, evaluate_fn=note)
        else:
            with tempfile.TemporaryDirectory() as folder:
                flocks = Flocks("fedavg" if which == "flocks" else "flic", clients=CLIENTS, run=f"{folder}/run",
                                evaluate_every=0, **({"warmup": 4} if which == "flic" else {}))  # fmt: skip
                flocks.start(grid, first, num_rounds=rounds, evaluate_fn=note)

    backend = {"client_resources": {"num_cpus": 1, "num_gpus": 0.0}, "init_args": {"num_cpus": 2}}
    run_simulation(server, client_app(), CLIENTS, backend_config=backend)
    (cpu, wall), (cpu_end, wall_end) = marks[2], marks[rounds]
    return {
        "cpu": (cpu_end - cpu) / (rounds - 2), "wall": (wall_end - wall) / (rounds - 2),
        "step": statistics.median(steps) if steps else 0.0,
    }  # fmt: skip


def main() -> None:
    """Compare, in fresh processes and in turn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        print("RESULT " + json.dumps(measure(options.only, options.rounds)))
        return
    from flockwise.flower.command import QUIET

    found: dict[str, list[dict[str, float]]] = {"fedavg": [], "flocks": [], "flic": []}
    for _ in range(options.repeats):
        for which, results in found.items():
            with tempfile.TemporaryDirectory() as home:
                command = [sys.executable, __file__, "--only", which, "--rounds", str(options.rounds)]
                quiet = {**os.environ, **QUIET, "FLWR_HOME": home, "OMP_NUM_THREADS": "1"}
                done = subprocess.run(
                    command, env=quiet, capture_output=True, text=True, check=False, timeout=600
                )
            lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
            if not lines:
                sys.exit(f"{which} failed:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
            results.append(json.loads(lines[-1].removeprefix("RESULT ")))
    base = statistics.median(result["cpu"] for result in found["fedavg"])
    print(f"{'':24}CPU s/round  ratio  wall s/round  server step CPU ms")
    for which, results in found.items():
        cpu, wall, step = (statistics.median(r[key] for r in results) for key in ("cpu", "wall", "step"))
        name = {"fedavg": "Flower's FedAvg", "flocks": "Flockwise fedavg", "flic": "Flockwise flic"}[which]
        print(f"{name:24}{cpu:11.2f}  {cpu / base:5.2f}  {wall:12.2f}  {step * 1000:18.1f}")


if __name__ == "__main__":
    main()
