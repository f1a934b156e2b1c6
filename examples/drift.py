"""How many rounds until a newcomer, or a client whose data changed, is in the right flock?

Run: python examples/drift.py        (about a minute on one core; the digits come with Flockwise)
"""

import tempfile
from pathlib import Path

import numpy as np

import flockwise as fw
from flockwise.rng import generator

HAPPENS = 18
SEEDS = (1, 2, 3)


def play(seed: int, follow: float | None, faults: dict[str, int], out: Path) -> fw.Run:
    """One run in which something happens to two clients."""
    digits = fw.data.digits()
    clients = fw.splits.rotation(digits, clients=16, groups=4, validation=0.2, seed=seed)
    return fw.run(
        fw.flic(warmup=12, follow=follow), clients, model=fw.models.softmax,
        training=fw.SGD(epochs=3, batch_size=10, learning_rate=0.1), rounds=30, fraction=0.5, faults=faults,
        evaluation={"every": 10}, engine=fw.Local(1), out=out,
    )  # fmt: skip


def rounds_until_right(run: fw.Run, late: bool) -> list[int | None]:
    """For each late or drifted client: rounds from the event until it is where it belongs, for good."""
    rounds, flocks = run.array("flock")
    truth = np.array([client["truth"] for client in run.clients])
    placed = [
        event.client for event in run.events if event.kind in ("placed", "moved") and event.round >= HAPPENS
    ]
    before = flocks[list(rounds).index(HAPPENS - 1)]
    home = {int(g): int(np.bincount(before[(truth == g) & (before >= 0)]).argmax()) for g in np.unique(truth)}
    result: list[int | None] = []
    if late:
        who = [int(client) for client in np.flatnonzero(before < 0)]
    else:
        moved = generator(run.config["seed"], "drift").choice(16, size=2, replace=False)
        who = [int(client) for client in moved]
    for client in who:
        group = int(truth[client]) if late else (int(truth[client]) + 1) % len(home)
        right = [int(f[client]) == home[group] for f in flocks]
        wrong = [int(r) for r, good in zip(rounds, right, strict=True) if not good]
        last_wrong = max(wrong, default=0)
        result.append(None if last_wrong == rounds[-1] else max(last_wrong - HAPPENS + 1, 0))
    assert placed or None in result
    return result


def main() -> None:
    """Print the table."""
    print("| what happens in round 18 | follow | rounds until right, each client (3 seeds, 2 clients each) |")
    print("|---|---|---|")
    for name, faults in (
        ("2 of 16 clients join", {"late_clients": 2, "late_round": HAPPENS}),
        ("2 of 16 clients get other data", {"drift_clients": 2, "drift_round": HAPPENS}),
    ):
        for follow in (None, 0.1):
            found: list[int | None] = []
            for seed in SEEDS:
                with tempfile.TemporaryDirectory() as folder:
                    run = play(seed, follow, faults, Path(folder) / "run")
                    found += rounds_until_right(run, late="late_clients" in faults)
            shown = ", ".join("never" if value is None else str(value) for value in found)
            print(f"| {name} | {follow or 'off'} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
