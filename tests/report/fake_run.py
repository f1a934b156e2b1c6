"""Runs that look like real ones and take no training, for tests and pictures."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

from flockwise.messages import Event
from flockwise.rng import generator
from flockwise.store import create_run
from flockwise.store.policy import CheckpointPolicy


@dataclass
class Moment:
    """One round of a fake run."""

    labels: np.ndarray
    accuracy: np.ndarray
    apart: np.ndarray
    facts: dict[str, float] = field(default_factory=dict)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)


def config(strategy: str, rounds: int, clients: int, seed: int = 0, **changes: object) -> dict:
    whole = {
        "name": strategy, "seed": seed, "rounds": rounds, "data": {"name": "digits"},
        "split": {"name": "label_swap", "clients": clients, "validation": 0.1},
        "model": {"name": "softmax"}, "training": {"epochs": 1, "batch_size": 10, "learning_rate": 0.05},
        "sampling": {"fraction": 0.5}, "strategy": {"name": strategy},
        "aggregation": {"name": "mean", "attackers": 0}, "attack": {"name": "none", "clients": 0},
    }  # fmt: skip
    for key, value in changes.items():
        section, _, name = key.partition("__")
        if name:
            whole[section][name] = value
        else:
            whole[section] = value
    return whole


def people(
    truth: np.ndarray, attackers: np.ndarray | None = None, names: list[str] | None = None
) -> list[dict]:
    rng = generator(0, "people")
    lying = np.zeros(len(truth), dtype=int) if attackers is None else attackers.astype(int)
    return [
        {
            "client": i, "name": names[i] if names else f"client {i}", "truth": int(group), "attacker": int(lying[i]),
            "train": int(rng.integers(40, 120)), "validation": 8, "test": 20,
            "address": f"10.{int(group) * 40}.{int(rng.integers(0, 30))}.{i % 250}",
            "hour": round(float(rng.uniform(0, 24)), 2), "user": int(rng.integers(0, 10_000)),
        }
        for i, group in enumerate(truth)
    ]  # fmt: skip


def similarities(
    truth: np.ndarray, seed: int, close: float = 0.6, far: float = 0.08, spread: float = 0.08
) -> np.ndarray:
    rng = generator(seed, "similarity")
    noise = rng.normal(0, spread, (len(truth), len(truth)))
    square = np.where(truth[:, None] == truth[None, :], close, far) + (noise + noise.T) / 2
    np.fill_diagonal(square, 1.0)
    return square.astype(np.float16)


def spots(truth: np.ndarray, seed: int, apart: float = 3.0) -> np.ndarray:
    rng = generator(seed, "map")
    angle = 2 * np.pi * truth / (truth.max() + 1)
    centre = apart * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return (centre + rng.normal(0, 0.7, (len(truth), 2))).astype(np.float32)


def climb(round: int, top: float, speed: float = 0.15) -> float:
    return top * (1 - np.exp(-speed * round))


def write(
    path: Path, settings: dict, clients: list[dict], moment: Callable[[int], Moment], stop: int | None = None
) -> Path:
    """Write rounds 1 to `stop` (default: all; then the run is finished)."""
    count, rng = len(clients), generator(settings["seed"], "fake")
    last = settings["rounds"]
    with create_run(
        path, settings, {"python": "3.11", "seed": settings["seed"]}, CheckpointPolicy(every=10**9)
    ) as run:
        run.clients(clients)
        for round in range(1, (stop or last) + 1):
            now = moment(round)
            trained = (rng.random(count) < settings["sampling"]["fraction"]) & (now.apart == 0)
            heard = now.accuracy[np.isfinite(now.accuracy)]
            facts = {
                "accuracy": heard.mean(), "accuracy_worst": heard.min(), "accuracy_std": heard.std(),
                "accuracy_p10": np.quantile(heard, 0.1), "accuracy_p90": np.quantile(heard, 0.9),
                "loss": 2.3 - 2 * heard.mean(), "train_loss": 2.2 - 2 * heard.mean(),
                "flocks": len(np.unique(now.labels[now.labels >= 0])), "apart": int((now.apart > 0).sum()),
                "participants": int(trained.sum()), "rejected": sum(e.kind == "rejected" for e in now.events),
            } | now.facts  # fmt: skip
            arrays = {
                "flock": now.labels.astype(np.int64), "apart": now.apart.astype(np.int8), "trained": trained,
                "accuracy": now.accuracy.astype(np.float32), "loss": (2.3 - 2 * now.accuracy).astype(np.float32),
            } | now.arrays  # fmt: skip
            run.commit(round, 0.4 + 0.05 * rng.random(), facts, arrays, now.events,
                       {"round": np.array([round])}, last=round == last)  # fmt: skip
        if stop is None:
            run.about(state="finished")
    return path


def flic(path: Path, clients: int = 40, rounds: int = 40, seed: int = 0, at: int = 15,
         names: list[str] | None = None, stop: int | None = None, **changes: object) -> Path:  # fmt: skip
    """Label swap: four flocks are found at round 15 and accuracy jumps."""
    truth = np.arange(clients) % 4
    rng = generator(seed, "flic")

    def moment(round: int) -> Moment:
        found = round >= at
        level = climb(round, 0.62) if not found else 0.93 - 0.28 * np.exp(-0.6 * (round - at))
        accuracy = np.clip(level + rng.normal(0, 0.04, clients), 0, 1)
        labels = truth.copy() if found else np.zeros(clients, dtype=int)
        now = Moment(
            labels, accuracy, np.zeros(clients), {"ari": float(found), "purity": 1.0 if found else 0.25}
        )
        if round in (5, 10, at):
            far = 0.5 - 0.42 * round / at
            now.arrays |= {"similarity": similarities(truth, seed + round, 0.6, far),
                           "map": spots(truth, seed + round, 3 * round / at)}  # fmt: skip
            now.facts |= {"separation": 4.0 * round / at, "modularity": 0.2 * round / at}
        if round == at:
            labels[-1] = -1
            now.events.append(Event("flocks", f"4 flocks among {clients - 1} clients", None,
                                    {"sizes": [clients // 4] * 3 + [clients // 4 - 1], "separation": 4.0}))  # fmt: skip
        if round == at + 1:
            now.events.append(
                Event("placed", f"fits flock {truth[-1]} best", clients - 1, {"flock": int(truth[-1])})
            )
        if round == at + 5:
            now.events.append(Event("rejected", "reply rejected: update has NaN", 3))
        return now

    return write(
        path, config("flic", rounds, clients, seed, **changes), people(truth, None, names), moment, stop
    )


def cfl(path: Path, clients: int = 24, rounds: int = 30, seed: int = 0) -> Path:
    """Two splits in turn, each when alpha_cross falls below its threshold."""
    truth = np.arange(clients) % 3

    def moment(round: int) -> Moment:
        labels = (
            np.zeros(clients, dtype=int)
            if round < 10
            else np.where(truth == 0, 0, 1 if round < 18 else truth)
        )
        right = np.where(labels == truth, 0.9, 0.6)
        accuracy = np.clip(
            right * (1 - np.exp(-0.3 * round)) + generator(seed, "cfl", round).normal(0, 0.03, clients), 0, 1
        )
        alpha = {True: 0.5 - 0.05 * round, False: 0.35 - 0.045 * (round - 10) if round < 18 else 0.4}[
            round <= 10
        ]
        now = Moment(labels, accuracy, np.zeros(clients), {"alpha_cross": alpha, "alpha_threshold": 0.02})
        for at, gone in ((10, np.flatnonzero(truth > 0)), (18, np.flatnonzero(truth == 2))):
            if round == at:
                detail = {"flock": 0 if at == 10 else 1, "clients": gone.tolist(), "alpha_cross": alpha}
                now.events.append(
                    Event("split", f"flock {detail['flock']} split: {len(gone)} clients leave", None, detail)
                )
        return now

    return write(path, config("cfl", rounds, clients, seed), people(truth), moment)


def fl_hc(path: Path, clients: int = 32, rounds: int = 25, seed: int = 0, at: int = 8) -> Path:
    """One round with everyone, a dendrogram of L1 distances, then flocks that train by themselves."""
    truth = np.arange(clients) % 4
    away = np.abs(generator(seed, "away").normal(9000, 400, (clients, clients)))
    away = np.where(truth[:, None] == truth[None, :], 0.4, 1.0) * (away + away.T) / 2
    np.fill_diagonal(away, 0)

    def moment(round: int) -> Moment:
        labels = truth if round >= at else np.zeros(clients, dtype=int)
        top = 0.91 if round >= at else 0.55
        accuracy = np.clip(
            climb(round, top, 0.4) + generator(seed, "hc", round).normal(0, 0.03, clients), 0, 1
        )
        now = Moment(labels, accuracy, np.zeros(clients))
        if round == at:
            merges = linkage(squareform(away, checks=False), "complete")
            now.arrays |= {
                "similarity": away.astype(np.float16),
                "dendrogram": merges,
                "map": spots(truth, seed),
            }
            now.facts |= {"separation": 6.0, "ari": 1.0, "purity": 1.0}
            now.events.append(
                Event("flocks", f"4 flocks among {clients} clients", None, {"sizes": [clients // 4] * 4})
            )
        return now

    return write(path, config("fl-hc", rounds, clients, seed), people(truth), moment)


def communities(path: Path, clients: int = 50, rounds: int = 30, seed: int = 0) -> Path:
    """Flocks every round; clients move between them until they settle."""
    truth = np.arange(clients) % 3
    labels = generator(seed, "start").integers(0, 5, clients)

    def moment(round: int) -> Moment:
        nonlocal labels
        rng = generator(seed, "communities", round)
        before, wanders = labels, rng.random(clients) < 0.5 * np.exp(-0.15 * round)
        labels = np.where(wanders, rng.integers(0, 5 if round < 12 else 3, clients), labels)
        labels = np.where(rng.random(clients) < 0.25, truth, labels)
        accuracy = np.clip(climb(round, 0.9) - 0.2 * (labels != truth) + rng.normal(0, 0.03, clients), 0, 1)
        settled = float((labels == truth).mean())
        facts = {
            "modularity": 0.3 * settled,
            "silhouette": 0.7 * settled - 0.1,
            "ari": settled**2,
            "purity": settled,
        }
        now = Moment(labels, accuracy, np.zeros(clients), facts)
        now.events += [
            Event("moved", f"moved from flock {before[i]} to {labels[i]}", int(i),
                  {"from": int(before[i]), "to": int(labels[i]), "accuracies": [0.4, 0.6, 0.5]})
            for i in np.flatnonzero(before != labels)
        ]  # fmt: skip
        if round % 6 == 0:
            now.arrays |= {
                "similarity": similarities(truth, round, 0.2 + 0.4 * settled),
                "map": spots(truth, round, 4 * settled),
            }
        return now

    return write(path, config("communities", rounds, clients, seed), people(truth), moment)


def mini_fl(path: Path, clients: int = 30, rounds: int = 20, seed: int = 0) -> Path:
    """Groups by the place the reports come from; one global model."""
    truth = np.sort(np.arange(clients) % 3)

    def moment(round: int) -> Moment:
        accuracy = np.clip(
            climb(round, 0.88, 0.3) + generator(seed, "mini", round).normal(0, 0.03, clients), 0, 1
        )
        now = Moment(truth, accuracy, np.zeros(clients))
        if round == 1:
            now.facts |= {"unlike_geo": 0.02, "groups_geo": 3.0, "unlike_time": 0.31, "groups_time": 4.0,
                          "unlike_user": 0.28, "groups_user": 3.0, "feature": 0.0}  # fmt: skip
            now.events.append(
                Event("flocks", f"3 flocks among {clients} clients", None, {"sizes": [clients // 3] * 3})
            )
        return now

    return write(
        path, config("mini-fl", rounds, clients, seed, aggregation__name="krum"), people(truth), moment
    )


def byzantine(
    path: Path, clients: int = 40, rounds: int = 30, seed: int = 0, stop: int | None = None, **changes: object
) -> Path:
    """Ten attackers set apart at round 12, one of them confirmed; an honest one among them let go later."""
    truth = np.zeros(clients, dtype=int)
    lying = np.arange(clients) >= clients - 10

    def moment(round: int) -> Moment:
        rng = generator(seed, "byzantine", round)
        caught = lying.copy()
        caught[0] = round < 20
        apart = np.where(caught & (round >= 12), 1, 0)
        apart[-1] = 2 if round >= 22 else apart[-1]
        level = climb(round, 0.5, 0.4) if round < 12 else 0.9 - 0.4 * np.exp(-0.5 * (round - 11))
        accuracy = np.clip(level + rng.normal(0, 0.03, clients), 0, 1)
        accuracy[apart > 0] = np.nan
        found = apart > 0
        facts = {"alpha_cross": 0.3 - 0.025 * round if round <= 12 else 0.25, "alpha_threshold": 0.02,
                 "detection_recall": float(found[lying].mean()),
                 "detection_precision": float(lying[found].mean()) if found.any() else float("nan")}  # fmt: skip
        now = Moment(np.where(apart > 0, -1, 0), accuracy, apart, facts)
        if round == 12:
            gone = np.flatnonzero(found).tolist()
            now.events.append(Event("quarantine", f"{len(gone)} clients set apart from flock 0", None,
                                    {"flock": 0, "clients": gone, "alpha_cross": 0.0}))  # fmt: skip
            now.events.append(Event("rollback", "flock 0 goes back to round 5", None,
                                    {"flock": 0, "round": 5, "accuracy": 0.62, "instead_of": 0.41}))  # fmt: skip
            now.arrays |= {"similarity": similarities(lying.astype(int), seed, 0.5, -0.3),
                           "map": spots(lying.astype(int), seed)}  # fmt: skip
        if round == 20:
            now.events.append(Event("released", "released by hand", 0))
        if round == 22:
            now.events.append(Event("confirmed", "confirmed hostile by hand", clients - 1))
        if round % 7 == 0:
            now.events.append(Event("dropout", "no reply came", 5))
        return now

    settings = config(
        "byzantine-cfl", rounds, clients, seed, attack__name="gaussian", attack__clients=10, **changes
    )
    return write(path, settings, people(truth, lying), moment, stop)


def big(path: Path, clients: int = 1000, rounds: int = 500, seed: int = 0) -> Path:
    """As large as the report promises to stay quick with."""
    truth = np.arange(clients) % 8

    def moment(round: int) -> Moment:
        rng = generator(seed, "big", round)
        labels = truth.copy() if round >= 100 else np.zeros(clients, dtype=int)
        wander = rng.random(clients) < 0.01
        labels = np.where(wander & (round >= 100), rng.integers(0, 8, clients), labels)
        level = climb(round, 0.6, 0.03) if round < 100 else 0.92 - 0.3 * np.exp(-0.05 * (round - 100))
        now = Moment(
            labels, np.clip(level + rng.normal(0, 0.05, clients), 0, 1), np.zeros(clients), {"ari": 0.9}
        )
        now.events += [
            Event("dropout", "no reply came", int(i)) for i in np.flatnonzero(rng.random(clients) < 0.02)
        ]
        if round == 100:
            now.events.append(
                Event("flocks", f"8 flocks among {clients} clients", None, {"sizes": [clients // 8] * 8})
            )
        if round % 50 == 0:
            now.arrays |= {"similarity": similarities(truth, round), "map": spots(truth, round)}
        return now

    return write(path, config("flic", rounds, clients, seed), people(truth), moment)


ALL = {
    "flic": flic,
    "cfl": cfl,
    "fl-hc": fl_hc,
    "communities": communities,
    "mini-fl": mini_fl,
    "byzantine": byzantine,
}

if __name__ == "__main__":
    import sys

    folder = Path(sys.argv[1])
    for name, make in ALL.items():
        print(make(folder / name))
    print(json.dumps({"runs": len(ALL)}))
