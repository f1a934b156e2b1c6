"""pfl-research's own FederatedAveraging on the same clients, as a peer of engine.py.

    python benchmarks/performance/pfl_peer.py CONFIG-AS-JSON DATA PROCESSES THREADS

With two processes, the first starts the second; they speak through torch.distributed, as pfl does. Users'
samples are shuffled by indexing, cheaper than a DataLoader, and nothing is evaluated or printed between rounds.
"""

# ruff: noqa: E402 (importing pfl connects the processes, so they must be there before)

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

CONTENT, DATA = json.loads(sys.argv[1]), Path(sys.argv[2])
PROCESSES, THREADS = int(sys.argv[3]), int(sys.argv[4])
RANK = int(os.environ.get("PFL_WORKER_RANK", "0"))
OTHERS: list[subprocess.Popen[bytes]] = []


def start_others() -> None:
    """Start the other processes; before pfl is imported, because importing it connects them."""
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        port = probe.getsockname()[1]
    os.environ["PFL_WORKER_ADDRESSES"] = ",".join(f"localhost:{port + i}" for i in range(PROCESSES))
    os.environ["PFL_WORKER_RANK"] = "0"
    for rank in range(1, PROCESSES):
        environment = {**os.environ, "PFL_WORKER_RANK": str(rank)}
        OTHERS.append(
            subprocess.Popen(
                [sys.executable, *sys.argv], env=environment, stdin=subprocess.DEVNULL, stdout=sys.stderr
            )
        )


# Threads that wait by spinning take minutes for a round as soon as something else wants a core.
os.environ |= {"OMP_NUM_THREADS": str(THREADS), "OMP_WAIT_POLICY": "passive", "PFL_PYTORCH_DEVICE": "cpu"}
if PROCESSES > 1 and "PFL_WORKER_RANK" not in os.environ:
    start_others()

import numpy as np
import torch
from official import accuracy
from pfl.aggregate.simulate import SimulatedBackend
from pfl.aggregate.weighting import WeightByUser
from pfl.algorithm.base import NNAlgorithmParams
from pfl.algorithm.federated_averaging import FederatedAveraging
from pfl.callback.base import TrainingProcessCallback
from pfl.data.dataset import Dataset
from pfl.data.federated_dataset import FederatedDataset
from pfl.data.sampling import get_user_sampler
from pfl.hyperparam import NNEvalHyperParams, NNTrainHyperParams
from pfl.metrics import Metrics
from pfl.model.pytorch import PyTorchModel
from torch import nn
from torch.nn import functional
from turns import Turns

from flockwise.config import parse_config
from flockwise.models import Layout
from flockwise.runs.federating import make_work


class WithLoss(nn.Module):
    """Our module with what pfl wants of one."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def loss(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Mean cross-entropy of a batch."""
        return functional.cross_entropy(self.inner(x), y)

    def metrics(self, x: torch.Tensor, y: torch.Tensor) -> dict[str, Any]:
        """None: evaluation is not timed."""
        return {}


class Pause(TrainingProcessCallback):
    """Takes turns after every central iteration; between turns, all processes wait for the first."""

    def __init__(self) -> None:
        self.turns = Turns()
        self._left = 1  # the first round

    def after_central_iteration(
        self, aggregate_metrics: Any, model: Any, *, central_iteration: int
    ) -> tuple[bool, Any]:
        """Note the round."""
        self._left -= 1
        if RANK == 0:
            facts = aggregate_metrics.to_simple_dict()
            points, devices = (
                next(v for k, v in facts.items() if n in k) for n in ("data points", "devices")
            )
            self.turns.done(round(points * devices))  # points are the mean over the cohort
        if self._left == 0:  # or the others would train the next round while the first waits
            asked = torch.tensor(self.turns.left)
            if PROCESSES > 1:
                torch.distributed.broadcast(asked, 0)
            self._left = int(asked)
        return self._left == 0, Metrics()


def main() -> None:
    """Simulate until told to stop."""
    torch.set_num_threads(THREADS)
    np.random.seed(0)  # noqa: NPY002 (pfl draws its own seeds from the global generator)
    config = parse_config(CONTENT)
    work = make_work(config, None, DATA)
    clients, recipe = work.federation.clients, work.recipe
    arrays = [work.data(client, "train", 1) for client in range(clients)]
    tensors = [(torch.from_numpy(x).permute(0, 3, 1, 2).contiguous(), torch.from_numpy(y)) for x, y in arrays]

    def user(number: int) -> Dataset:
        x, y = tensors[number]
        order = torch.randperm(len(y))
        return Dataset((x[order], y[order]), user_id=str(number))

    module = WithLoss(work.module)
    model = PyTorchModel(module, torch.optim.SGD, torch.optim.SGD(module.parameters(), lr=1.0))
    data = FederatedDataset(user, get_user_sampler("minimize_reuse", np.random.permutation(clients).tolist()))  # noqa: NPY002
    pause = Pause()
    FederatedAveraging().run(
        NNAlgorithmParams(10**9, 10**9, max(round(config.sampling.fraction * clients), 1), 0),
        SimulatedBackend(data, data, postprocessors=[WeightByUser()]), model,
        NNTrainHyperParams(local_batch_size=recipe.batch_size, local_num_epochs=recipe.epochs,
                           local_learning_rate=recipe.learning_rate),
        NNEvalHyperParams(local_batch_size=None), [pause], send_metrics_to_platform=False,
    )  # fmt: skip
    if RANK:
        return
    for other in OTHERS:
        other.wait()
    pause.turns.finish(accuracy(work, Layout.of(work.module).read(work.module)))


if __name__ == "__main__":
    main()
