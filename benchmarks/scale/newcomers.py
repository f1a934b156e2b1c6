"""Where clients end that are first heard after flocks are found: how many of them are with others of their kind.

    python benchmarks/scale/newcomers.py --json benchmarks/results/newcomers.json

`examples/million.toml` with 1,500 clients, a tenth of them a round, flocks after 8 of 14 rounds, sketches of 512 numbers;
once as it is (36 samples to validate on), once with 5; three seeds. The statistic, set before: of the clients first heard
after flocks were found, the share whose flock is the one that most clients of their group were found in; and the ARI at
the end. The bar: ARI at the end no lower than when flocks were found, with 5 samples too.
"""

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import flockwise as fw

SMALL = [
    "split.clients=1500",
    "rounds=14",
    "strategy.warmup=8",
    "sampling.fraction=0.1",
    "evidence.sketch=512",
]
SETTINGS = {"36 samples to validate on": [], "5": ["split.samples=55", "split.validation=0.1"]}
FOUND = 8


def measured(changes: list[str], seed: int) -> dict[str, Any]:
    """One run."""
    example = Path(__file__).parents[2] / "examples" / "million.toml"
    config = fw.load_config(example, [*SMALL, *changes, f"seed={seed}", "engine.workers=1"])
    with tempfile.TemporaryDirectory() as folder:
        run = fw.run(config, out=Path(folder) / "run")
        rounds, trained = run.array("trained")
        flocks = {round: run.array_at("flock", round) for round in (FOUND, config.rounds)}
        ari = dict(zip(rounds.tolist(), run.facts["ari"].tolist(), strict=True))
        accuracy = float(run.facts["accuracy"][-1])
        groups = np.array([client["truth"] for client in run.clients])
    early, late = trained[:FOUND].any(axis=0) > 0, trained[FOUND:].any(axis=0) > 0
    new = late & ~early
    home = [np.bincount(flocks[FOUND][early & (groups == group)]).argmax() for group in np.unique(groups)]
    right = flocks[config.rounds] == np.array(home)[groups]
    return {
        "seed": seed, "ari_found": ari[FOUND], "ari_end": ari[config.rounds], "newcomers": int(new.sum()),
        "right": float(right[new].mean()), "never_heard": int((~early & ~late).sum()),
        "never_heard_right": float(right[~early & ~late].mean()), "accuracy": accuracy,
    }  # fmt: skip


def main() -> None:
    """Measure, and keep it in a new file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--json", type=Path, required=True)
    given = parser.parse_args()
    done: dict[str, list[dict[str, Any]]] = {}
    for name, changes in SETTINGS.items():
        done[name] = []
        for seed in range(given.seeds):
            done[name].append(measured(changes, seed))
            print(name, done[name][-1], flush=True)
            given.json.write_text(json.dumps(done, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
