"""How many samples and epochs it takes until exact FLIC tells 20 kinds of clients apart, before anything is scaled.

python benchmarks/scale/settings.py --out benchmarks/results/scale_settings.json
"""

import argparse
import json
import tempfile
from pathlib import Path

import flockwise as fw

TRIED = ((20, 1), (50, 1), (100, 1), (200, 1), (50, 5), (100, 5))  # samples of a client, epochs


def found(samples: int, epochs: int, clients: int, seed: int) -> dict[str, float]:
    """One round of everybody, and the flocks that are found then."""
    federation = fw.splits.kinds(
        fw.data.mnist(), clients=clients, seed=seed, swaps=5, turns=4, samples=samples, validation=0.1, test=10,
        shared=True,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        run = fw.run(
            fw.flic(warmup=1), federation, model=fw.models.softmax, rounds=1, seed=seed, out=Path(folder) / "run",
            training=fw.SGD(epochs=epochs, learning_rate=0.1, batch_size=10), evidence={"sketch": "none"},
        )  # fmt: skip
        facts = {name: float(run.facts[name][-1]) for name in ("ari", "flocks")}
    return {"samples": samples, "epochs": epochs, "clients": clients, "seed": seed, **facts}


def main() -> None:
    """The table, as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    rows = []
    for samples, epochs in TRIED:
        rows.append(found(samples, epochs, asked.clients, asked.seed))
        print(rows[-1], flush=True)
        asked.out.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
