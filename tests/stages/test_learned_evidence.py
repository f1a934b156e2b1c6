"""What of a model is evidence: what training moves, not the running statistics of batch normalisation."""

from pathlib import Path

import numpy as np
import torch
from torch import nn

import flockwise as fw
from flockwise.messages import Reply, bound
from flockwise.models import Layout
from flockwise.models.spans import joined_spans
from flockwise.models.travel import Travel
from flockwise.stages import Setting
from flockwise.stages.evidence import learned, learned_layers


def network() -> nn.Module:
    return nn.Sequential(nn.Linear(16, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, 2))


def test_statistics_of_batches_are_not_learned() -> None:
    travel = Travel.of(Layout.of(network()))
    names = {entry.name: (entry.start, entry.stop) for entry in travel.layout.entries}
    assert travel.learned == (
        (0, names["1.bias"][1]),
        (names["3.weight"][0], names["3.bias"][1]),
    )
    assert Travel.of(Layout.of(nn.Linear(3, 2))).learned == ()


def test_layers_are_found_again_in_what_is_learned() -> None:
    setting = Setting(layers=((0, 2), (2, 5), (5, 7), (7, 9)), learned=((0, 2), (7, 9)))
    assert learned(np.arange(9, dtype=np.float32)[None], setting).tolist() == [[0, 1, 7, 8]]
    assert learned_layers(setting) == ((0, 2), (2, 4))
    assert joined_spans([(1, False), (2, False)]) == ()


def test_clients_whose_inputs_are_scaled_alike_are_told_apart_by_what_they_learn(tmp_path: Path) -> None:
    """Statistics that move the same way for all clients are much longer than what they learn."""
    rng = np.random.default_rng(0)
    kinds = rng.normal(size=(2, 16))
    samples = []
    for client in range(10):
        x = (rng.normal(size=(120, 16)) * 3 + 4).astype("float32")
        y = ((x - 4) @ kinds[client % 2] > 0).astype(int)
        samples.append((x, y))
    torch.manual_seed(0)
    run = fw.run(
        fw.flic(warmup=5), fw.Federation.from_arrays(samples), model=network(), rounds=8,
        training=fw.SGD(epochs=3, batch_size=20, learning_rate=0.1), engine=fw.Local(1), out=tmp_path / "run",
    )  # fmt: skip
    assert sorted(map(sorted, run.flocks.values())) == [[0, 2, 4, 6, 8], [1, 3, 5, 7, 9]]


def test_cfl_splits_by_what_is_learned_alone() -> None:
    """Two kinds that learn the contrary, and statistics of batches, much longer, that move the same way for all."""
    for spans, flocks in ((((0, 4),), 2), ((), 1)):
        setting = Setting(learned=spans)
        server = fw.Server(fw.cfl(), initial=np.zeros((1, 8), np.float32), clients=6, setting=setting)
        plan = server.ask()
        updates = np.concatenate([np.tile([[1.0], [-1.0]], (3, 4)), np.full((6, 4), 100.0)], axis=1)
        told = [
            Reply(client, plan.round, update, 10) for client, update in enumerate(updates.astype(np.float32))
        ]
        assert server.tell(bound(told)) is not None
        assert server.state.flocks == flocks
        if flocks == 2:
            assert len(set(server.state.labels[::2])) == len(set(server.state.labels[1::2])) == 1
