"""The same as public code on the same input, where the two mean the same; peers.json says whose and which version."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from flockwise.attacks import View, constrain_and_scale, edge_cases, model_replacement, neurotoxin
from flockwise.attacks.a3fl import masked, searched
from flockwise.attacks.dba import barred
from flockwise.engine.seen_model import Seen

PEERS = json.loads((Path(__file__).parent / "peers.json").read_text())


def crafted(attack, own, others=None):
    return attack.craft(View(np.atleast_2d(own), others), np.random.default_rng(0))[0]


@pytest.mark.parametrize("adversaries", [1, 2])
def test_model_replacement_is_the_authors_scaling_shared_out_among_attackers(adversaries):
    update = np.array(PEERS["update"], dtype=np.float32)
    sent = crafted(model_replacement(scale=10.0 / adversaries), update)
    np.testing.assert_allclose(sent, PEERS[f"model_replacement_{adversaries}"], atol=1e-5)


def test_constrain_and_scale_stretches_to_a_bound_as_the_authors_do_where_it_need_not_turn():
    update = np.array(PEERS["update"], dtype=np.float32)
    honest = np.zeros((2, len(update)), np.float32)
    honest[0, 3] = 0.25  # the longest honest update is what they call s_norm
    sent = crafted(constrain_and_scale(closeness=-1.0), update, honest)
    np.testing.assert_allclose(sent, PEERS["constrain_and_scale"], atol=1e-6)


@pytest.mark.parametrize("part", [-1, 0, 1, 2, 3])
def test_the_bars_of_dba_are_the_authors_with_their_length_and_gap(part):
    stamped = barred(np.zeros((1, 28, 28, 1), np.float32), range(4) if part < 0 else (part,), size=4, gap=2)
    assert np.argwhere(stamped[0, :, :, 0]).tolist() == PEERS[f"dba_{part}"]


def test_neurotoxin_leaves_alone_what_the_authors_mask_leaves_alone():
    honest = np.array(PEERS["honest_gradient"], dtype=np.float32)
    sent = crafted(neurotoxin(avoid=0.1), np.ones_like(honest), honest[None])
    assert sent.astype(int).tolist() == PEERS["neurotoxin_mask"]


class Twice(nn.Module):
    """Two layers of weights and nothing else, as in the input that the authors' lines were given."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 2, 3, bias=False), nn.Conv2d(2, 3, 4, bias=False)
        for layer, weights in zip((self.conv1, self.conv2), PEERS["a3fl_weights"], strict=True):
            layer.weight.data = torch.tensor(weights)

    def forward(self, x):
        return self.conv2(torch.relu(self.conv1(x))).flatten(1)


@pytest.mark.parametrize(("name", "harden", "balance"), [("a3fl_plain", 0, 0.0), ("a3fl_hardened", 5, 5.0)])
def test_the_trigger_of_a3fl_is_the_authors_after_as_many_steps(name, harden, balance):
    x = np.array(PEERS["a3fl_x"], dtype=np.float32)[..., None]
    mask = masked(x.shape, size=3, offset=2)
    y = np.array(PEERS["a3fl_y"])
    found = searched(Seen(Twice()), x, y, mask, 2, steps=12, rate=0.01, harden=harden, balance=balance)
    np.testing.assert_allclose(np.where(mask, found, 0.5)[..., 0], PEERS[name], atol=1e-4)
    assert PEERS["a3fl_plain"] != PEERS["a3fl_hardened"]


@pytest.mark.parametrize("bound", [0.1, 9])
def test_edge_cases_are_brought_back_into_the_ball_as_the_authors_do(bound):
    sent = crafted(edge_cases(bound=bound), np.array(PEERS["edge_update"], dtype=np.float32))
    np.testing.assert_allclose(sent, PEERS[f"edge_projected_{bound}"], atol=1e-6)


def test_edge_cases_count_as_a_success_what_the_authors_count():
    labels, predicted = np.array(PEERS["edge_labels"]), np.array(PEERS["edge_predicted"])
    goal = edge_cases(source=7, target=1).goal
    marked = np.repeat(
        predicted[:, None, None, None] / 10, 1, axis=1
    )  # an image that says what it is taken for
    shown = np.rint((1 - goal.shown(marked, labels)) * 10)  # the negative of the negative
    assert 100 * float(np.mean(shown == goal.target)) == pytest.approx(PEERS["edge_success"])
    assert 0 < PEERS["edge_success"] < 100


def test_edge_cases_beside_clean_samples_are_as_many_as_the_authors_with_the_right_share():
    """Theirs adds 100 rare samples of another data set to 400 clean ones; ours makes a share of its own rare."""
    x, y = np.full((500, 2, 2, 1), 0.25, np.float32), np.repeat([3, 5], 250)
    mixed, labels = edge_cases(target=9, share=0.2).poison(x, y, 10, np.random.default_rng(0))
    rare = mixed[:, 0, 0, 0] == 0.75
    assert (rare.sum(), (~rare).sum()) == (100, 400)
    assert (labels[rare] == 9).all() and (labels[~rare] == y[~rare]).all()
