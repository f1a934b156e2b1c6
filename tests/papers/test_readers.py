"""Numbers that papers report, on records made by hand."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import flockwise as fw
from flockwise.data import Dataset
from flockwise.models import Layout, build
from flockwise.papers.communities.readers import their_silhouette
from flockwise.papers.flic.readers import before, best_of_last
from flockwise.papers.flic.regression import two_clients
from flockwise.store import open_run
from flockwise.studies import finished
from flockwise.studies.finished import Finished, statistic
from flockwise.studies.readers import official_rise, pure_from, right_from


def _finished(accuracy: list[float], warmup: int | None = None) -> Finished:
    config = {"strategy": {} if warmup is None else {"warmup": warmup}}
    rounds = np.arange(1, len(accuracy) + 1)
    return Finished(SimpleNamespace(rounds=rounds, facts={"accuracy": np.array(accuracy)}, config=config))  # type: ignore[arg-type]


def test_the_mean_before_clustering_is_over_the_second_half_of_the_warm_up_that_was_tested() -> None:
    record = [0.1, np.nan, 0.5, np.nan, 0.7, 0.9]
    assert before(_finished(record, warmup=5)) == pytest.approx(0.6)
    assert before(_finished(record)) != before(_finished(record))  # NaN: it does not cluster


def test_the_best_of_the_last_rounds_leaves_out_the_beginning() -> None:
    assert best_of_last(_finished([0.9, 0.2, 0.3, 0.1, np.nan, 0.25])) == 0.25  # a third of six rounds


def test_the_last_rise_is_between_the_last_two_models_that_were_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    run = SimpleNamespace(config={"checkpoint": {"at": [5, 10, 15]}}, checkpoints=[10, 12, 15])
    monkeypatch.setattr(
        Finished, "official_accuracy", lambda self, round: {10: 0.5, 12: 0.0, 15: 0.52}[round]
    )
    assert official_rise(Finished(run)) == pytest.approx(0.02)  # type: ignore[arg-type]
    run.checkpoints = [15]
    assert np.isnan(official_rise(Finished(run)))  # type: ignore[arg-type]


def test_rises_are_counted_from_nothing_on() -> None:
    assert statistic([0, 0, 3, 3, None, 5, 5], "rises", "neither") == 2
    assert statistic([30, 30], "rises", "neither") == 1
    assert statistic([0, 0], "rises", "neither") == 0


def test_flocks_are_pure_from_the_round_after_which_they_never_mix_again() -> None:
    clients = [{"truth": group} for group in (0, 0, 1, 1)]
    flocks = np.array([[0, 1, 2, 3], [0, 0, 0, 1], [0, 0, 1, 2], [0, 0, 1, 1]])
    run = SimpleNamespace(clients=clients, array=lambda name: (np.array([1, 2, 3, 4]), flocks))
    assert pure_from(Finished(run)) == 3 and right_from(Finished(run)) == 4  # type: ignore[arg-type]
    mixed = SimpleNamespace(clients=clients, array=lambda name: (np.array([1, 2]), flocks[:2]))
    assert np.isnan(pure_from(Finished(mixed)))  # type: ignore[arg-type]


def test_two_clients_meet_in_the_middle() -> None:
    alike, different = two_clients({"data": "IID"}, 0), two_clients({"data": "non-IID"}, 0)
    assert alike["global"][-1] == pytest.approx(45, abs=1) and alike["apart"][-1] < 1
    assert different["apart"][-1] > 5 and len(different["global"]) == 10


@pytest.mark.parametrize("model", ["softmax", "lenet", "mobilenet-original"])
def test_any_model_can_be_judged_on_the_official_test_part(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    data = Dataset(
        f"for {model}", rng.random((30, 32, 32, 3), np.float32), rng.integers(0, 4, 30), 10, 1.0, 4
    )
    monkeypatch.setattr(finished, "load", lambda name, directory: data)
    module = build(model, (3, 32, 32), 4, seed=0).eval()
    run = SimpleNamespace(config={"data": {"name": data.name}, "model": {"name": model}})
    with torch.no_grad():
        expected = module(torch.from_numpy(data.x[10:]).permute(0, 3, 1, 2)).argmax(1).numpy() == data.y[10:]
    found = Finished(run).official(Layout.of(module).read(module))  # type: ignore[arg-type]
    assert found == pytest.approx(expected.mean())


def _with_distances(square: list[list[float]], flocks: list[int]) -> Finished:
    arrays = {"similarity": np.array(square), "flock": np.array(flocks)}
    run = SimpleNamespace(kept=lambda name: [10], array_at=lambda name, round: arrays[name])
    return Finished(run)  # type: ignore[arg-type]


def test_the_authors_silhouette_counts_a_client_among_its_own() -> None:
    near, far, never = 2.0, 4.0, np.nan
    square = [
        [0, near, far, far, never],
        [near, 0, far, far, never],
        [far, far, 0, near, never],
        [far, far, near, 0, never],
        [never] * 5,
    ]
    # 1 on average to one's own (0 and 2), 4 to the others; by the book it is 2 and 4.
    assert their_silhouette(_with_distances(square, [0, 0, 1, 1, 0])) == pytest.approx(0.75)
    assert their_silhouette(_with_distances(square, [0, 0, 0, 0, 0])) == 0.0


def test_the_global_model_of_mini_fl_is_the_one_that_clients_have_and_no_mean_with_rows_that_do_not_move(
    tmp_path: Path,
) -> None:
    config = {
        "rounds": 4, "data": {"name": "digits"}, "split": {"name": "noniid_degree", "clients": 20},
        "model": {"name": "softmax"}, "strategy": {"name": "mini-fl", "collect": 1},
    }  # fmt: skip
    fw.run(config, out=tmp_path / "run")
    done = Finished(open_run(tmp_path / "run"))
    models, labels = done.models()
    assert len(models) == 5 == len(np.unique(labels)) and not np.array_equal(models[0], models[1])
    assert done.official_accuracy() == done.official(models[0])
