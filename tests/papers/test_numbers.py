"""Numbers that pages report, on records made by hand."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from flockwise.data import Dataset
from flockwise.models import Layout, build
from flockwise.papers import finished
from flockwise.papers.communities.paper import their_silhouette
from flockwise.papers.finished import Finished
from flockwise.papers.flic.readers import best_of_last, mean_over


def _finished(accuracy: list[float]) -> Finished:
    run = SimpleNamespace(rounds=np.arange(1, len(accuracy) + 1), facts={"accuracy": np.array(accuracy)})
    return Finished(run)  # type: ignore[arg-type]


def test_a_mean_over_rounds_skips_those_not_tested() -> None:
    record = _finished([0.1, np.nan, 0.5, np.nan, 0.7, 0.9])
    assert mean_over(record, 3, 5) == pytest.approx(0.6)
    assert mean_over(record, 1, 6) == pytest.approx(0.55)


def test_the_best_of_the_last_rounds_leaves_out_the_beginning() -> None:
    assert best_of_last(_finished([0.9, 0.2, 0.3, 0.1, np.nan, 0.25])) == 0.25  # a third of six rounds


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
