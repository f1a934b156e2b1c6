"""What counts as a layer in deep relative trust: which reading finds the communities in a run's models.

Compares readings on the models that clients sent in the rounds a run has kept, for example of
    flockwise run benchmarks/communities/base.toml --set strategy.attribution=avg --set rounds=2 \
        --set 'checkpoint.at=[1, 2]' --out runs/layers
    python benchmarks/communities/layers.py runs/layers
and prints the adjusted Rand index of the communities of each round.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np

from flockwise import load_model, open_run
from flockwise.clustering import louvain
from flockwise.metrics import adjusted_rand
from flockwise.models import Layout
from flockwise.models.layout import Entry
from flockwise.similarity import SIMILARITIES, trusted
from flockwise.stages.grouping import as_kind

READINGS: dict[str, Callable[[Entry], str | None]] = {
    "weight and bias one, statistics each one (ours)": lambda e: _module(e) if e.trainable else e.name,
    "every array": lambda e: e.name,
    "weight and bias one, no statistics": lambda e: _module(e) if e.trainable else None,
    "statistics alone": lambda e: None if e.trainable else e.name,
    "everything of a module one": lambda e: _module(e),
}


def main() -> None:
    """Print a table for each run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="+", type=Path, help="run directories of the communities strategy")
    for path in parser.parse_args().runs:
        run = open_run(path)
        truth = np.array([client["truth"] for client in run.clients])
        layout = Layout.of(load_model(run))
        print(f"{path}: rounds {', '.join(map(str, run.checkpoints))}")
        for name, key in READINGS.items():
            layers = _layers(layout, key)
            if not layers:
                continue
            scores = [
                _found(run.checkpoint(round)["memory/latest/models"], layers, truth)
                for round in run.checkpoints
            ]
            print(f"  {name:50}{len(layers):4} layers  " + "  ".join(f"{score:5.2f}" for score in scores))


def _module(entry: Entry) -> str:
    return entry.name.rpartition(".")[0]


def _layers(layout: Layout, key: Callable[[Entry], str | None]) -> list[tuple[int, int]]:
    spans: dict[str, list[int]] = {}
    for entry in layout.entries:
        name = key(entry)
        if name is not None:
            spans.setdefault(name, []).extend((entry.start, entry.stop))
    return [(min(ends), max(ends)) for ends in spans.values()]


def _found(models: np.ndarray, layers: list[tuple[int, int]], truth: np.ndarray) -> float:
    graph = as_kind(trusted(models, layers), SIMILARITIES["trusted"], "similarity", power=3.0)
    return adjusted_rand(louvain(graph), truth)


if __name__ == "__main__":
    main()
