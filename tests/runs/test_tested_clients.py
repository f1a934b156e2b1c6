"""Tests on a sample of clients, and what that says of all."""

from pathlib import Path

import numpy as np
import pytest

import flockwise as fw
from flockwise.config import parse_config
from flockwise.runs.tested_clients import MOST_TESTED, SAMPLE, estimated
from flockwise.runs.tested_clients import tested_clients as drawn


def test_everyone_is_tested_up_to_a_size_and_a_sample_above() -> None:
    config = parse_config({})
    assert drawn(config, MOST_TESTED) is None
    some = drawn(config, 10 * MOST_TESTED)
    assert len(np.unique(some)) == SAMPLE and some.tolist() == drawn(config, 10 * MOST_TESTED).tolist()
    assert len(drawn(parse_config({"evaluation": {"clients": 7}}), 100)) == 7
    assert drawn(parse_config({"evaluation": {"clients": 100}}), 100) is None


def test_the_interval_holds_the_mean_of_all_in_most_cases() -> None:
    random, population = np.random.default_rng(0), 5000
    everyone = random.beta(3, 2, population)
    held = 0
    for _ in range(400):
        scores = np.full(population, np.nan)
        seen = random.choice(population, 300, replace=False)
        scores[seen] = everyone[seen]
        found = estimated(scores, population)
        held += found["accuracy_low"] <= everyone.mean() <= found["accuracy_high"]
    assert 0.92 <= held / 400 <= 0.98  # 0.95, within three standard errors
    assert estimated(everyone, population)["accuracy_low"] == pytest.approx(everyone.mean())


def test_a_run_with_a_sample_says_so_and_learns_the_same(tmp_path: Path) -> None:
    clients = fw.splits.iid(fw.data.digits(), clients=20)

    def run(name: str, **evaluation: object) -> fw.Run:
        return fw.run(
            fw.fedavg(), clients, model=fw.models.softmax, rounds=2, out=tmp_path / name,
            evaluation={"every": 1, **evaluation},
        )  # fmt: skip

    every, some = run("every"), run("some", clients=5)
    assert "tested" not in every.facts and some.facts["tested"].tolist() == [5.0, 5.0]
    assert (some.facts["accuracy_low"] <= some.facts["accuracy"]).all()
    tested = np.isfinite(some.array("accuracy")[1][-1])
    assert tested.sum() == 5
    assert np.array_equal(some.array("accuracy")[1][-1][tested], every.array("accuracy")[1][-1][tested])
    assert np.array_equal(some.checkpoint()["models"], every.checkpoint()["models"])
