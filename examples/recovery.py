"""Sixty of a hundred clients send reversed updates; what is left of the model when flocks are found late?

Run: python examples/recovery.py        (about a minute on one core; the digits come with Flockwise)
"""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import flockwise as fw

ROUNDS = 240
FOUND = 200  # flocks are found only now; with 60 attackers the paper had to do it in round 50


def play(rollback: bool, first_round: int) -> tuple[dict[str, np.ndarray], list[Any]]:
    """One run; the facts of every round, and what happened."""
    with tempfile.TemporaryDirectory() as folder:
        run = fw.run(
            fw.flic(warmup=FOUND, judge="validation", rollback=rollback),
            fw.splits.iid(fw.data.digits(), clients=100, seed=3),
            model=fw.models.softmax,
            training=fw.SGD(epochs=2, batch_size=5, learning_rate=0.1),
            attack=fw.attacks.reverse(clients=60, first_round=first_round),
            rounds=ROUNDS,
            fraction=0.3,
            evaluation={"every": 5},
            engine=fw.Local(1),
            out=Path(folder) / "run",
        )
        return run.facts, run.events


def main() -> None:
    """Print the table."""
    print(
        "| attack from round | roll-back | accuracy before | 5 rounds after | at the end | set apart | starts from |"
    )
    print("|---|---|---|---|---|---|---|")
    for first_round in (1, 21):
        for rollback in (False, True):
            facts, events = play(rollback, first_round)
            back = [e.detail["round"] for e in events if e.kind == "rollback"]
            wolves = f"{facts['detection_recall'][-1]:.0%} of wolves, {facts['apart'][-1]:.0f} in all"
            accuracy = [facts["accuracy"][round - 1] for round in (FOUND - 5, FOUND + 5, ROUNDS)]
            print(f"| {first_round} | {'yes' if rollback else 'no'} | "
                  + " | ".join(f"{100 * value:.1f} %" for value in accuracy)
                  + f" | {wolves} | {', '.join(f'round {r}' for r in sorted(set(back))) or 'the joint model'} |",
                  flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
