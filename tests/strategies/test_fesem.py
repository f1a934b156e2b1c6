"""FeSEM and WeCFL: centres among the clients' models."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from tests.strategies.playing import play

from flockwise.stages.centres import kmeans, nearest
from flockwise.stages.claims import by_claims
from flockwise.stages.evidence import latest_models
from flockwise.stages.stage import Round

TURNED = {"name": "rotation", "clients": 12, "groups": 2}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_centres_find_the_kinds_in_the_first_round_and_keep_them(seed):
    game = play(rounds=8, seed=seed, strategy={"name": "fesem", "flocks": 3})
    assert game.ari == 1.0 and game.mean_accuracy > 0.85
    assert [record.facts["flocks"] for record in game.records] == [3.0] * 8


def test_every_round_is_one_assignment_and_one_mean():
    """Lloyd's two steps, on the newest models, by an oracle that knows nothing of stages."""
    before = play(rounds=3, split=TURNED, strategy={"name": "fesem", "flocks": 2}, sampling={"fraction": 0.5})
    after = play(rounds=4, split=TURNED, strategy={"name": "fesem", "flocks": 2}, sampling={"fraction": 0.5})
    models, heard = latest_models.of(after.server.state)
    centres = before.server.state.models.astype(np.float64)
    away = ((models[heard][:, None] - centres[None]) ** 2).sum(axis=2)
    assert after.labels[heard].tolist() == away.argmin(axis=1).tolist()
    for centre in (0, 1):
        mean = models[heard & (after.labels == centre)].mean(axis=0, dtype=np.float64)
        np.testing.assert_allclose(after.server.state.models[centre], mean, atol=1e-6)


def test_by_size_a_centre_is_the_mean_by_samples():
    split = {"name": "label_swap", "clients": 8, "groups": 2, "sizes": "lognormal"}
    game = play(rounds=3, split=split, strategy={"name": "fesem", "weights": "size"})
    assert len(set(game.parts.federation.sizes("train").tolist())) > 2
    models, _ = latest_models.of(game.server.state)
    round = Round(game.server.state, game.server.setting)
    for centre in np.unique(game.labels):
        members = np.flatnonzero(game.labels == centre)
        mean = np.average(models[members].astype(np.float64), axis=0, weights=by_claims(round, members))
        np.testing.assert_allclose(game.server.state.models[centre], mean, atol=1e-6)


def test_k_means_finds_what_scikit_learn_finds():
    rng = np.random.Generator(np.random.Philox(5))
    rows = (rng.normal(size=(40, 7)) + 4 * rng.normal(size=(5, 7))[rng.integers(0, 5, size=40)]).astype(
        np.float32
    )
    labels = kmeans(rows, 5, seed=1)
    theirs = KMeans(5, n_init=30, random_state=0).fit(rows)
    ours = sum(((rows[labels == k] - rows[labels == k].mean(axis=0)) ** 2).sum() for k in range(5))
    assert ours == pytest.approx(theirs.inertia_, rel=1e-5)
    assert [labels.tolist().index(k) for k in range(5)] == sorted(labels.tolist().index(k) for k in range(5))


def test_equal_models_and_few_clients_are_no_trouble():
    rows = np.zeros((6, 3), np.float32)
    assert set(kmeans(rows, 3, seed=0)) == {0}
    assert nearest(rows, np.ones((2, 3), np.float32))[0].tolist() == [0] * 6
    game = play(rounds=2, split={"name": "iid", "clients": 2}, strategy={"name": "fesem", "flocks": 2})
    assert game.server.round == 2
