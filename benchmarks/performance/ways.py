"""Ours and the plain loop, one way in one process, for engine.py.

    python benchmarks/performance/ways.py {plain,ours,whole,tested} CONFIG-AS-JSON DATA

The plain loop is what frameworks do (DataLoader, torch.optim.SGD), its clients spread over one process per
core. `ours` trains and aggregates. `whole` is all of `flockwise run` as it is by default: clients tested when it is time,
the run store, checkpoints; `tested` is the same with every client tested in every round.
"""

import json
import multiprocessing
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
from official import accuracy
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset
from turns import Turns

import flockwise
from flockwise.config import parse_config
from flockwise.kernels.parallel import available_cores
from flockwise.models import Layout
from flockwise.runs.assembly import assemble
from flockwise.runs.federating import make_work


def plain(content: dict[str, Any], data: Path) -> None:
    """FedAvg as frameworks do it."""
    config = parse_config(content)
    work = make_work(config, None, data)
    layout, recipe = Layout.of(work.module), work.recipe
    arrays = [work.data(client, "train", 1) for client in range(work.federation.clients)]
    tensors = [(torch.from_numpy(x).permute(0, 3, 1, 2).contiguous(), torch.from_numpy(y)) for x, y in arrays]

    def train(vector: np.ndarray, number: int) -> tuple[np.ndarray, int]:
        layout.write(work.module, vector)
        loader = DataLoader(TensorDataset(*tensors[number]), batch_size=recipe.batch_size, shuffle=True)
        optimiser = torch.optim.SGD(work.module.parameters(), lr=recipe.learning_rate)
        work.module.train()
        samples = 0
        for _ in range(recipe.epochs):
            for x, y in loader:
                optimiser.zero_grad()
                functional.cross_entropy(work.module(x), y).backward()  # type: ignore[no-untyped-call]
                optimiser.step()
                samples += len(y)
        return layout.read(work.module), samples

    def serve(pipe: Any) -> None:
        torch.set_num_threads(1)
        while (job := pipe.recv()) is not None:
            vector, numbers = job
            pipe.send([train(vector, number) for number in numbers])

    context, pipes = multiprocessing.get_context("fork"), []
    for _ in range(available_cores()):
        here, there = context.Pipe()
        context.Process(target=serve, args=(there,), daemon=True).start()
        pipes.append(here)
    rng, turns, going = np.random.default_rng(0), Turns(), True
    vector = layout.read(work.module)
    count = max(round(config.sampling.fraction * work.federation.clients), 1)
    while going:
        chosen = rng.choice(work.federation.clients, count, replace=False)
        for pipe, part in zip(pipes, np.array_split(chosen, len(pipes)), strict=True):
            pipe.send((vector, part.tolist()))
        answers = [answer for pipe in pipes for answer in pipe.recv()]
        vector = np.stack([answer[0] for answer in answers]).mean(axis=0, dtype=np.float64).astype(np.float32)
        going = turns.done(sum(answer[1] for answer in answers))
    for pipe in pipes:
        pipe.send(None)
    turns.finish(accuracy(work, vector))


def ours(content: dict[str, Any], data: Path) -> None:
    """Train and aggregate with our server and engine."""
    parts, turns, going = assemble(parse_config(content), data=data), Turns(), True
    while going:
        replies = parts.engine.train(parts.server.ask())
        parts.server.tell(replies)
        going = turns.done(int(replies.samples.sum()))
    parts.engine.close()
    turns.finish(accuracy(parts.work, parts.server.state.models[0]))


def whole(content: dict[str, Any], data: Path) -> None:
    """`flockwise run` with metrics, run store and checkpoints."""
    turns = Turns()
    asked: list[bool] = []

    def pause(_: object) -> None:
        if all(asked):
            asked.append(turns.done())

    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        run = flockwise.run(content, out=out, data=data, on_round=pause, stop=lambda: not all(asked))
        federation = make_work(parse_config(content), None, data).federation
        sizes = np.array([len(shard.train) for shard in federation.shards])
        samples = int((run.array("trained")[1] * sizes).sum())
        scores = run.facts["accuracy"]  # of a run that was stopped, the last round need not have been tested
        turns.finish(float(scores[np.isfinite(scores)][-1]), samples, len(run.rounds))


def tested(content: dict[str, Any], data: Path) -> None:
    """The same with every client tested in every round."""
    whole({**content, "evaluation": {"every": 1}}, data)


if __name__ == "__main__":
    torch.set_num_threads(1)
    {"plain": plain, "ours": ours, "whole": whole, "tested": tested}[sys.argv[1]](
        json.loads(sys.argv[2]), Path(sys.argv[3])
    )
