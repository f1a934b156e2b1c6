from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flockwise.attacks import (
    ATTACKS,
    View,
    fall_of_empires,
    gaussian,
    little_is_enough,
    local_model_poisoning,
    mimic,
    min_max,
    min_sum,
    partial_drop,
    random_update,
    reverse,
)
from flockwise.attacks.contract import Rehearsal
from flockwise.attacks.statistical import supported_z
from flockwise.errors import ConfigError, InputError

UPDATE_ATTACKS = [name for name, entry in ATTACKS.items() if entry.kind == "update"]


def rng():
    return np.random.default_rng(0)


def middle(rows):
    return np.median(rows, axis=0)


def honest(attackers=4, others=16, parameters=50, seed=0):
    drawn = np.random.default_rng(seed).normal(0.5, 1.0, (attackers + others, parameters)).astype(np.float32)
    groups = np.arange(attackers + others) % 2
    rehearse = partial(rehearsed, drawn[attackers:])
    return View(
        drawn[:attackers],
        drawn[attackers:],
        "krum",
        {"f": attackers},
        groups,
        True,
        middle,
        rehearse=rehearse,
    )


def rehearsed(others, own):
    """A server that takes the mean and finds no flocks."""
    mean = np.concatenate([own, others]).mean(axis=0)
    return Rehearsal(np.zeros(len(own), int), np.zeros(len(others), int), np.tile(mean, (len(others), 1)))


def limited(view, knows):
    return View(
        view.own,
        view.others if "all" in knows else None,
        view.rule if "rule" in knows else None,
        view.rule_parameters if "rule" in knows else None,
        view.groups if "groups" in knows else None,
        view.found if "groups" in knows else None,
        view.simulate if "rule" in knows else None,
        rehearse=view.rehearse if "defence" in knows else None,
    )


@pytest.mark.parametrize("name", UPDATE_ATTACKS)
@pytest.mark.parametrize("attackers, parameters", [(1, 1), (1, 50), (3, 7), (10, 50)])
def test_every_attack_works_with_no_more_than_it_claims_to_know(name, attackers, parameters):
    attack = ATTACKS[name]()
    view = honest(attackers, parameters=parameters)
    before = [view.own.copy(), view.others.copy()]
    sent = attack.craft(limited(view, attack.knows), rng())
    assert sent.shape == view.own.shape
    assert sent.dtype == np.float32
    assert np.isfinite(sent).all()
    assert np.array_equal(view.own, before[0]) and np.array_equal(view.others, before[1])
    assert np.array_equal(sent, attack.craft(limited(view, attack.knows), rng()))


@pytest.mark.parametrize("name", UPDATE_ATTACKS)
def test_every_attack_stands_equal_and_zero_updates(name):
    for value in (0, 1):
        rows = np.full((12, 5), value, np.float32)
        for found in (False, True):
            view = View(
                rows[:3], rows[3:], None, None, np.zeros(12, int), found, middle,
                rehearse=partial(rehearsed, rows[3:]),
            )  # fmt: skip
            assert np.isfinite(ATTACKS[name]().craft(view, rng())).all()


@pytest.mark.parametrize("name", UPDATE_ATTACKS)
def test_an_attack_that_lacks_its_knowledge_says_so(name):
    attack = ATTACKS[name]()
    blind = View(honest().own)
    if "all" in attack.knows:
        with pytest.raises(InputError, match=f"others = None: {name}"):
            attack.craft(blind, rng())
    elif "groups" in attack.knows:
        with pytest.raises(InputError, match=f"groups = None: {name}"):
            attack.craft(blind, rng())
    else:
        attack.craft(blind, rng())


@pytest.mark.parametrize("name", UPDATE_ATTACKS)
def test_impossible_updates_are_refused(name):
    attack = ATTACKS[name]()
    with pytest.raises(InputError):
        attack.craft(View(np.empty((0, 3), np.float32), np.ones((2, 3), np.float32)), rng())
    if "all" in attack.knows:
        with pytest.raises(InputError):
            attack.craft(View(np.ones((2, 3), np.float32), np.ones((2, 4), np.float32)), rng())


def test_reverse_turns_the_honest_update_round():
    view = honest()
    assert np.array_equal(reverse().craft(view, rng()), -view.own)
    assert np.allclose(reverse(100).craft(view, rng()), -100 * view.own)


def test_random_updates_are_uniform_in_their_range_and_differ():
    sent = random_update(-2, 3).craft(honest(parameters=5000), rng())
    assert sent.min() >= -2 and sent.max() < 3.001
    assert sent.mean() == pytest.approx(0.5, abs=0.05)
    assert not np.array_equal(sent[0], sent[1])


def test_gaussian_updates_have_their_standard_deviation():
    sent = gaussian(3.0).craft(honest(parameters=5000), rng())
    assert sent.mean() == pytest.approx(0, abs=0.1)
    assert sent.std() == pytest.approx(3, abs=0.1)


def test_partial_drop_replaces_the_share_and_leaves_the_rest():
    view = honest(parameters=5000)
    sent = partial_drop(0.8, -1.0).craft(view, rng())
    replaced = sent == -1
    assert replaced.mean() == pytest.approx(0.8, abs=0.02)
    assert np.array_equal(sent[~replaced], view.own[~replaced])


@given(st.integers(2, 6), st.integers(0, 10**6), st.floats(-3, 3))
def test_little_is_enough_is_mean_plus_z_deviations_of_what_it_sees(attackers, seed, z):
    view = honest(attackers, seed=seed)
    own = view.own.astype(np.float64)
    sent = little_is_enough(z).craft(View(view.own), rng())
    assert np.allclose(sent, own.mean(axis=0) + z * own.std(axis=0), atol=1e-5)
    every = np.concatenate([view.own, view.others]).astype(np.float64)
    sent = little_is_enough(z, knowledge="all").craft(view, rng())
    assert np.allclose(sent, every.mean(axis=0) + z * every.std(axis=0), atol=1e-5)


def test_the_computed_z_is_that_of_the_paper():
    # 50 clients, 24 attackers: two honest supporters are needed, phi(z) = 24 / 26
    assert supported_z(50, 24) == pytest.approx(1.426, abs=1e-3)
    assert supported_z(20, 5) == pytest.approx(0.253, abs=1e-3)  # phi(z) = 9 / 15
    assert little_is_enough(None).knows == {"own", "all"}


def test_fall_of_empires_is_the_mean_turned_round():
    view = honest()
    assert np.allclose(
        fall_of_empires(10).craft(View(view.own), rng()), -10 * view.own.mean(axis=0), atol=1e-5
    )


@pytest.mark.parametrize("make", [little_is_enough, fall_of_empires, min_max, min_sum])
def test_attackers_that_know_the_groups_imitate_their_own_group(make):
    view = honest()
    everyone = np.concatenate([view.own, view.others])
    attack = make(knowledge="groups")
    assert attack.knows == {"own", "all", "groups"}
    sent = attack.craft(view, rng())
    for group in (0, 1):
        members = everyone[view.groups == group]
        alone = make(knowledge="own").craft(View(members), rng())[0]
        assert np.allclose(sent[view.groups[:4] == group], alone, atol=1e-5)
    assert not np.allclose(sent[0], sent[1])
    with pytest.raises(InputError, match="groups = None"):
        attack.craft(view._replace(groups=None), rng())


@pytest.mark.parametrize("deviation", ["unit", "std", "sign"])
@given(seed=st.integers(0, 10**6))
def test_min_max_is_as_far_as_the_farthest_honest_pair_and_no_farther(deviation, seed):
    view = honest(seed=seed)
    seen = np.concatenate([view.own, view.others]).astype(np.float64)
    sent = min_max(deviation).craft(view, rng())[0].astype(np.float64)
    largest = np.linalg.norm(seen[:, None] - seen, axis=2).max()
    assert np.linalg.norm(seen - sent, axis=1).max() == pytest.approx(largest, rel=1e-4)


@pytest.mark.parametrize("deviation", ["unit", "std", "sign"])
@given(seed=st.integers(0, 10**6))
def test_min_sum_is_as_far_as_the_most_remote_honest_client_and_no_farther(deviation, seed):
    view = honest(seed=seed)
    seen = np.concatenate([view.own, view.others]).astype(np.float64)
    sent = min_sum(deviation).craft(view, rng())[0].astype(np.float64)
    largest = (np.linalg.norm(seen[:, None] - seen, axis=2) ** 2).sum(axis=1).max()
    assert (np.linalg.norm(seen - sent, axis=1) ** 2).sum() == pytest.approx(largest, rel=1e-4)
    assert (sent - seen.mean(axis=0)) @ seen.mean(axis=0) < 0 or deviation == "std"


def test_mimic_copies_one_honest_client():
    view = honest()
    sent = mimic(target=3).craft(view, rng())
    assert np.array_equal(sent, np.tile(view.others[3], (4, 1)))
    chosen = mimic().craft(view, rng())
    assert any(np.array_equal(chosen[0], other) for other in view.others)


def test_mimic_picks_the_client_that_stands_out():
    view = honest()
    view.others[5] += 10
    assert np.array_equal(mimic().craft(view, rng())[0], view.others[5])


def test_mimic_with_noise_sends_near_copies_that_differ():
    view = honest()
    sent = mimic(target=0, epsilon=0.01).craft(view, rng())
    assert not np.array_equal(sent[0], sent[1])
    assert np.abs(sent - view.others[0]).max() < 0.1


def test_mimic_refuses_a_client_that_is_not_there():
    with pytest.raises(InputError, match="target = 99"):
        mimic(target=99).craft(honest(), rng())


@pytest.mark.parametrize("target", ["median", "trimmed-mean"])
def test_local_model_poisoning_lies_beyond_the_honest_values_against_their_course(target):
    view = honest(parameters=400)
    course = np.concatenate([view.own, view.others]).mean(axis=0)
    sent = local_model_poisoning(target).craft(view, rng())
    low, high = view.others.min(axis=0), view.others.max(axis=0)
    assert np.all(np.where(course > 0, sent <= low + 1e-6, sent >= high - 1e-6))
    assert np.all(np.abs(sent) <= 2 * np.maximum(np.abs(low), np.abs(high)) + 1e-6)


def test_local_model_poisoning_with_partial_knowledge_lies_three_to_four_deviations_away():
    view = honest(parameters=400)
    own = view.own.astype(np.float64)
    sent = local_model_poisoning("median", "partial").craft(View(view.own), rng())
    steps = (sent - own.mean(axis=0)) / own.std(axis=0) * np.where(own.mean(axis=0) > 0, -1, 1)
    assert steps.min() > 2.99 and steps.max() < 4.01


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: reverse(np.nan), "scale"),
        (lambda: random_update(1, 1), "high"),
        (lambda: gaussian(0), "std"),
        (lambda: partial_drop(1.2), "p = 1.2"),
        (lambda: little_is_enough(np.inf), "z"),
        (lambda: little_is_enough(1.0, "everything"), "knowledge"),
        (lambda: fall_of_empires(np.nan), "z"),
        (lambda: min_max("length"), "deviation"),
        (lambda: mimic(-1), "target"),
        (lambda: mimic(epsilon=-1), "epsilon"),
        (lambda: local_model_poisoning("mean"), "target"),
        (lambda: local_model_poisoning("krum", "none"), "knowledge"),
    ],
)
def test_impossible_parameters_are_refused_with_the_reason(make, told):
    with pytest.raises((ConfigError, InputError), match=told):
        make()


@pytest.mark.parametrize("ruined", [np.nan, np.inf, 3e38])
def test_the_white_box_goes_on_where_the_model_is_ruined_already(ruined):
    view = honest()
    others = view.others.copy()
    others[0, 0] = ruined
    with np.errstate(all="ignore"):
        sent = ATTACKS["white-box"]().craft(view._replace(others=others, groups=np.zeros(20, int)), rng())
    assert sent.shape == view.own.shape
