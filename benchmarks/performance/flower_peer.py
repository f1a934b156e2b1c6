"""Flower's own FedAvg in its Ray simulation, as a peer of engine.py; run in a process of its own.

    python benchmarks/performance/flower_peer.py CONFIG-AS-JSON DATA

Rounds are asked for as turns.py says.
"""

import json
import os
import sys
from pathlib import Path

os.environ.update(RAY_USAGE_STATS_ENABLED="0", FLWR_TELEMETRY_ENABLED="0", OMP_NUM_THREADS="1")

import ray
import torch
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg
from flwr.simulation import run_simulation
from official import accuracy
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset
from turns import Turns

from flockwise.config import parse_config
from flockwise.models import Layout
from flockwise.runs.federating import make_work

CONTENT, DATA = json.loads(sys.argv[1]), Path(sys.argv[2])


def shared_work():
    """The clients' data, once for each process (kept on a module, because Ray copies this file's globals)."""
    if not hasattr(sys, "benchmark_clients"):
        sys.benchmark_clients = make_work(parse_config(CONTENT), None, DATA)
    return sys.benchmark_clients


client = ClientApp()


@client.train()
def train(message: Message, context: Context) -> Message:
    """The loop of Flower's own examples."""
    torch.set_num_threads(1)
    work = shared_work()
    x, y = work.data(int(context.node_config["partition-id"]), "train", 1)
    work.module.load_state_dict(message.content["arrays"].to_torch_state_dict())
    images = torch.from_numpy(x).permute(0, 3, 1, 2).contiguous()
    loader = DataLoader(
        TensorDataset(images, torch.from_numpy(y)), batch_size=work.recipe.batch_size, shuffle=True
    )
    optimiser = torch.optim.SGD(work.module.parameters(), lr=work.recipe.learning_rate)
    work.module.train()
    for inputs, labels in loader:
        optimiser.zero_grad()
        functional.cross_entropy(work.module(inputs), labels).backward()
        optimiser.step()
    record = RecordDict(
        {"arrays": ArrayRecord(work.module.state_dict()), "metrics": MetricRecord({"num-examples": len(y)})}
    )
    return Message(record, reply_to=message)


def main() -> None:
    """Simulate until told to stop."""
    turns, samples = Turns(), [0]
    server = ServerApp()

    def count(records: list[RecordDict], weighting: str) -> MetricRecord:
        samples[0] = sum(int(record["metrics"][weighting]) for record in records)
        return MetricRecord({"none": 0})

    def note(number: int, arrays: ArrayRecord) -> MetricRecord:
        if number and not turns.done(samples[0]):  # 0 is before the first round
            finish(turns, arrays)
        return MetricRecord({"none": 0})

    @server.main()
    def rounds(grid: Grid, context: Context) -> None:
        strategy = FedAvg(
            fraction_train=CONTENT["sampling"]["fraction"], fraction_evaluate=0.0,
            min_available_nodes=shared_work().federation.clients, train_metrics_aggr_fn=count,
        )  # fmt: skip
        strategy.start(
            grid, ArrayRecord(shared_work().module.state_dict()), num_rounds=10**6, evaluate_fn=note
        )

    backend = {
        "client_resources": {"num_cpus": 1, "num_gpus": 0.0},
        "init_args": {"num_cpus": len(os.sched_getaffinity(0))},
    }
    run_simulation(server, client, shared_work().federation.clients, backend_config=backend)


def finish(turns: Turns, arrays: ArrayRecord) -> None:
    """Score the last model and end the process; Flower has no way to stop early."""
    work = shared_work()
    work.module.load_state_dict(arrays.to_torch_state_dict())
    turns.finish(accuracy(work, Layout.of(work.module).read(work.module)))
    ray.shutdown()
    os._exit(0)


if __name__ == "__main__":
    main()
