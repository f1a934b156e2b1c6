"""FedGWC: flocks by who has usual losses beside whom."""

import numpy as np
import pytest
from tests.strategies.playing import play

from flockwise.stages.loss_weights import LossWeights, Weighed, affinity, gaussian, spectral

NOISY = {"name": "feature_shift", "clients": 12, "groups": 2, "strength": 2.0}


def fresh(clients):
    return Weighed(
        np.full((clients, clients), clients**-2.0),
        np.ones(clients),
        np.zeros(clients, int),
        np.ones(clients, int),
    )


def authors_kernel(weights, gamma):
    """servers.py, _compute_P, written out."""
    turned = weights.T.copy()
    turned = (turned - turned.min()) / max(turned.max() - turned.min(), 1e-8)
    alike = np.zeros_like(turned)
    for i in range(len(turned) - 1):
        for j in range(i + 1, len(turned)):
            others = [k for k in range(len(turned)) if k not in (i, j)]
            alike[i, j] = alike[j, i] = np.exp(-gamma * ((turned[i] - turned[j])[others] ** 2).sum())
    return alike


def test_the_kernel_is_that_of_the_authors_code():
    weights = np.random.default_rng(1).random((7, 7))
    np.testing.assert_allclose(affinity(weights, 0.7), authors_kernel(weights, 0.7), rtol=1e-10)


def test_weights_move_as_in_the_authors_code():
    losses, samples = np.array([0.2, 0.5, 0.9]), np.array([10.0, 20.0, 10.0])
    mean = (losses * samples).sum() / 40
    spread = (samples * (losses - mean) ** 2).sum() / 40 + 1e-16
    usual = np.exp(-0.5 * (losses - mean) ** 2 / spread)
    np.testing.assert_allclose(gaussian(losses, samples), usual, rtol=1e-10)
    held, drawn = fresh(6), np.array([0, 2, 5])
    LossWeights(1e-5)._take(held, drawn, np.arange(6), usual / usual.sum())
    for i, client in enumerate(drawn):  # servers.py, _update_W
        np.testing.assert_allclose(held.weights[client, drawn], 0.5 / 36 + 0.5 * usual[i] / usual.sum())
    assert (held.weights[1] == 1 / 36).all()


def test_two_levels_of_losses_are_told_apart_once_pairs_have_met_often():
    random, kind, held = np.random.default_rng(0), np.arange(20) % 2, fresh(20)
    for _ in range(300):
        drawn = np.sort(random.choice(20, 5, replace=False))
        usual = gaussian(1.0 + kind[drawn] + 0.1 * random.standard_normal(5), np.ones(5))
        LossWeights(1e-5)._take(held, drawn, np.arange(20), usual / usual.sum())
    score, labels = spectral(affinity(held.weights, 4.0), 2, seed=0)
    wrong = min((labels != kind).sum(), (labels == kind).sum())
    assert wrong <= 2 and score < 1.0, "at random ten of twenty would be wrong"


def test_with_everybody_in_every_round_there_are_never_flocks():
    game = play(
        rounds=8,
        split=NOISY,
        strategy={"name": "fedgwc", "eps": 1.0},
        sampling={"fraction": 1.0},
        model={"name": "softmax"},
    )
    assert {record.facts["flocks"] for record in game.records} == {1}


@pytest.mark.parametrize("eps", [1.0, 1e-9])
def test_flocks_part_only_when_the_weights_have_settled(eps):
    game = play(
        rounds=12,
        split=NOISY,
        strategy={"name": "fedgwc", "eps": eps},
        sampling={"fraction": 0.25},
        model={"name": "softmax"},
    )
    looked = any("davies_bouldin" in record.facts for record in game.records)
    assert looked or eps < 1.0
    assert eps == 1.0 or game.server.state.flocks == 1
