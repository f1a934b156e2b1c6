"""The report of a run of very many clients: small, quick, exact in what it counts, and one can look anybody up."""

import json
import re
import time
from pathlib import Path

import numpy as np
import pytest

from flockwise.messages import Event
from flockwise.report import write_report
from flockwise.report.crowd import MOST_HELD
from flockwise.report.numbers import describe_run
from flockwise.store import create_run, open_run
from flockwise.store.policy import CheckpointPolicy


def synthetic_run(path: Path, clients: int, rounds: int = 12, flocks: int = 20) -> np.ndarray:
    """A run on record in which flocks are found half way; the last labels."""
    random = np.random.default_rng(0)
    truth = np.arange(clients) % flocks
    sample = np.sort(random.choice(clients, 2000, replace=False))
    config = {"name": "many", "rounds": rounds, "strategy": {"name": "flic"}, "data": {"name": "none"}}
    labels = np.zeros(clients, np.int64)
    with create_run(path, config, {}, CheckpointPolicy(every=10**9)) as writer:
        writer.client_columns(
            {"truth": truth, "attacker": (truth == 3).astype(np.int64), "train": np.full(clients, 50),
             "validation": np.full(clients, 5), "test": np.full(clients, 10)}
        )  # fmt: skip
        for round in range(1, rounds + 1):
            events = []
            if round == rounds // 2:
                labels = np.where(random.random(clients) < 0.6, truth, -1)
                events = [Event("flocks", f"{flocks} flocks", detail={"sizes": [1] * flocks})]
            elif round > rounds // 2:
                labels = np.where(random.random(clients) < 0.01, truth, labels)
            trained = np.zeros(clients, bool)
            trained[random.choice(clients, clients // 100, replace=False)] = True
            accuracy = np.full(clients, np.nan, np.float32)
            accuracy[sample] = random.random(2000)
            loss = np.where(trained, 0.5, np.nan).astype(np.float32)
            arrays = {"flock": labels, "apart": np.zeros(clients, np.int8), "trained": trained, "loss": loss,
                      "accuracy": accuracy}  # fmt: skip
            facts = {
                "accuracy": 0.5,
                "tested": 2000.0,
                "accuracy_low": 0.49,
                "accuracy_high": 0.51,
                "flocks": 20.0,
            }
            writer.commit(round, 1.0, facts, arrays, events, {})
        writer.about(state="finished")
    return labels


def test_flock_sizes_count_everybody_and_pictures_show_some(tmp_path: Path) -> None:
    labels = synthetic_run(tmp_path / "run", 30_000)
    shown = describe_run(open_run(tmp_path / "run"))
    assert shown["problems"] == []
    assert shown["places"]["codes"]["shape"] == [12, 2000] and len(shown["clients"]["number"]) == 2000
    for curve in shown["flocks"]["curves"]:
        assert curve["size"][-1] == np.sum(labels == curve["flock"])
    assert sum(shown["flow"]["columns"][-1]["counts"]) == 30_000
    assert "estimated from 2,000 clients, 0.490 to 0.510" in shown["headline"]["story"]


def test_anybody_can_be_looked_up(tmp_path: Path) -> None:
    labels = synthetic_run(tmp_path / "run", 30_000)
    found = describe_run(open_run(tmp_path / "run"))["lookup"]
    assert found["place"]["shape"] == [30_000] and set(found) == {"place", "trained", "truth", "attacker"}
    page = write_report([tmp_path / "run"]).read_text()
    data = json.loads(re.search(r'type="application/json"[^>]*>(.*?)</script>', page, re.S)[1])
    assert data["run"]["lookup"]["place"]["bytes"] == 1
    assert len(np.unique(labels)) == 21


@pytest.mark.parametrize("clients", [1_000_000])
def test_the_report_of_a_million_clients_is_small(tmp_path: Path, clients: int) -> None:
    synthetic_run(tmp_path / "run", clients, rounds=20)
    started = time.process_time()
    page = write_report([tmp_path / "run"])
    assert page.stat().st_size < 10_000_000
    assert (
        tmp_path / "run" / "run.sqlite"
    ).stat().st_size < 20_000_000  # 22 bytes a client and round were 440 MB
    assert time.process_time() - started < 60
    assert clients <= MOST_HELD
