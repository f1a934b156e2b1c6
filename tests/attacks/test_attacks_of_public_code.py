"""The same as public code on the same input, where the two mean the same; peers.json says whose and which version."""

import json
from pathlib import Path

import numpy as np
import pytest

from flockwise.attacks import View, constrain_and_scale, model_replacement, neurotoxin
from flockwise.attacks.dba import barred

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
