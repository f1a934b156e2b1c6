"""The same numbers as public code on the same input; peers.json says whose, which version, with which options."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.aggregation.small_inputs import gradients_over_rounds, scores_of_clients
from tests.oracles import filtering_rules as oracle

from flockwise.aggregation import (
    adaptive_clipping,
    clipping,
    dnc,
    fldetector,
    foolsgold,
    mda,
    meamed,
    monna,
    signguard,
    smea,
)
from flockwise.aggregation.flame import _angles, largest_cluster
from flockwise.aggregation.fldetector import hessian_times_step, set_off
from flockwise.aggregation.foolsgold import sybil_weights

PEERS = json.loads((Path(__file__).parent / "peers.json").read_text())
FLDETECTOR = json.loads((Path(__file__).parent / "fldetector.json").read_text())
UPDATES, BEFORE = np.array(PEERS["updates"]), np.array(PEERS["before"])


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("mda", lambda x: mda(x, 2)),
        ("monna", lambda x: monna(x, 2, x[4])),
        ("meamed", lambda x: meamed(x, 2)),
        ("smea", lambda x: smea(x, 2)),
        ("dnc", lambda x: dnc(x, 2)),
        ("signguard", lambda x: signguard(x, share=1.0)),
        ("hessian_times_step", lambda x: hessian_times_step(x[3:8].astype(np.float32))),
    ],
)
def test_a_rule_gives_what_public_code_gives(name, ours):
    np.testing.assert_allclose(ours(UPDATES), PEERS[name], atol=1e-5)


def test_caf_differs_from_byzfl_only_in_who_sets_the_scale():
    np.testing.assert_allclose(oracle.caf(UPDATES, 2, only_those_with_weight=False), PEERS["caf"], atol=1e-5)


def test_clipping_gives_the_lengths_of_byzfl():
    for ours, theirs in (
        (clipping(UPDATES, 2.0), "clipping_lengths"),
        (adaptive_clipping(UPDATES, 2), "adaptive_clipping_lengths"),
    ):
        np.testing.assert_allclose(np.linalg.norm(ours, axis=1), PEERS[theirs], rtol=1e-5)


def test_foolsgold_is_the_authors_sum_over_the_sum_of_weights():
    _, memory = foolsgold.function(BEFORE)
    joint, _ = foolsgold.function(UPDATES, memory=memory)
    histories = UPDATES + BEFORE
    weights = oracle.sybil_weights(histories)
    lengths = np.linalg.norm(histories, axis=1)
    cosines = histories @ histories.T / lengths / lengths[:, None]
    np.testing.assert_allclose(sybil_weights(cosines), weights, atol=1e-6)
    np.testing.assert_allclose(joint * weights.sum(), PEERS["foolsgold_sum"], atol=1e-4)


def test_flame_admits_whom_the_hdbscan_package_puts_into_its_cluster():
    admitted = largest_cluster(_angles(UPDATES @ UPDATES.T))
    assert admitted.tolist() == [label == 0 for label in PEERS["flame_labels"]]


def test_fldetector_is_surprised_as_its_authors_code_until_it_first_judges():
    memory, told = {}, FLDETECTOR["scores"]
    for number, gradients in enumerate(gradients_over_rounds()):
        _, memory = fldetector.function(-0.1 * gradients, memory=memory, window=10)
        if number < 2:
            assert told[number] is None and not memory["scores"].any()
        elif number < 12:
            np.testing.assert_allclose(memory["scores"][:, -1], told[number], rtol=1e-4, atol=1e-6)


def test_fldetector_suspects_whom_its_authors_code_suspects():
    for scores, theirs in zip(scores_of_clients(), FLDETECTOR["decisions"], strict=True):
        assert theirs["attack"] in (0, 10), "a clear case: ten draws of the gap statistic agree"
        for seed in range(5):
            assert np.flatnonzero(set_off(scores, seed)).tolist() == theirs["suspects"]
