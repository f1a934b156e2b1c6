"""Every attack meets every rule on one synthetic problem: 20 clients, 4 of them attackers.

IID clients share a course and differ by noise; non-IID clients come in five groups with courses of their
own, larger than the common one.
"""

from functools import partial

import numpy as np
import pytest

from flockwise.aggregation import RULES
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
    random_update,
    reverse,
)
from flockwise.attacks.contract import Rehearsal

CLIENTS, ATTACKERS, PARAMETERS = 20, 4, 400
GROUP = np.arange(CLIENTS) % 5
SEEDS = range(5)
ROBUST = [name for name, rule in RULES.items() if rule.bounded]
UPDATE_ATTACKS = [name for name, entry in ATTACKS.items() if entry.kind == "update"]
both = pytest.mark.parametrize("kind", ["iid", "non-iid"])


def honest_updates(kind, seed):
    rng = np.random.default_rng(seed)
    course = rng.normal(size=PARAMETERS)
    if kind == "iid":
        updates = course + 0.7 * rng.normal(size=(CLIENTS, PARAMETERS))
    else:
        own = 1.5 * rng.normal(size=(5, PARAMETERS))
        updates = 0.6 * course + own[GROUP] + 0.3 * rng.normal(size=(CLIENTS, PARAMETERS))
    return updates.astype(np.float32)


def rehearsed(others, own):
    """A server that takes the median and finds no flocks."""
    middle = np.median(np.concatenate([own, others]), axis=0)
    return Rehearsal(np.zeros(len(own), int), np.zeros(len(others), int), np.tile(middle, (len(others), 1)))


def attacked_updates(attack, kind, seed):
    updates = honest_updates(kind, seed)
    if attack is not None:
        view = View(
            updates[:ATTACKERS],
            updates[ATTACKERS:],
            "median",
            {},
            GROUP,
            True,
            lambda rows: np.median(rows, axis=0),
            rehearse=partial(rehearsed, updates[ATTACKERS:]),
        )
        updates[:ATTACKERS] = attack.craft(view, np.random.default_rng(seed))
    return updates


def aggregate(name, updates, honest, attackers=ATTACKERS):
    rule = RULES[name]
    radius = float(np.median(np.linalg.norm(honest, axis=1)))
    chosen = {"f": attackers, "trim": attackers / len(updates), "radius": radius}
    arguments = {name: chosen[name] for name in chosen if name in {*rule.wants, *rule.defaults}}
    if "root" in rule.wants:
        arguments["root"] = honest.mean(axis=0)
    result = rule.function(updates, **arguments)
    return np.asarray(result[0] if "memory" in rule.wants else result, dtype=np.float64)


def outcome(name, attack, kind, seed):
    """Cosine to the honest mean, distance from it relative to its length, and the result itself."""
    honest = honest_updates(kind, seed)
    updates = attacked_updates(attack, kind, seed)
    result = aggregate(name, updates, honest[ATTACKERS:])
    course = honest.mean(axis=0, dtype=np.float64)
    cosine = result @ course / np.linalg.norm(result) / np.linalg.norm(course)
    return cosine, np.linalg.norm(result - course) / np.linalg.norm(course), result


def cosines(name, attack, kind):
    return [outcome(name, attack, kind, seed)[0] for seed in SEEDS]


def error(name, attack, kind):
    return np.mean([outcome(name, attack, kind, seed)[1] for seed in SEEDS])


def times_krum_took_the_attackers(attack, kind):
    taken = 0
    for seed in SEEDS:
        result = outcome("krum", attack, kind, seed)[2].astype(np.float32)
        taken += any(np.array_equal(result, lie) for lie in attacked_updates(attack, kind, seed)[:ATTACKERS])
    return taken


@both
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", UPDATE_ATTACKS)
def test_every_rule_gives_a_finite_result_under_every_attack(name, rule, kind):
    assert np.isfinite(outcome(rule, ATTACKS[name](), kind, 0)[2]).all()


@both
@pytest.mark.parametrize("attack", [reverse(100), fall_of_empires(10)], ids=["reverse", "fall-of-empires"])
def test_strong_reversal_turns_the_mean_round(attack, kind):
    assert max(cosines("mean", attack, kind)) < -0.5


@pytest.mark.parametrize("rule", ROBUST)
@pytest.mark.parametrize("attack", [reverse(100), fall_of_empires(10), gaussian(30), random_update(0, 10)])
def test_every_robust_rule_keeps_the_course_of_iid_clients_under_crude_attacks(attack, rule):
    assert min(cosines(rule, attack, "iid")) > 0.8
    assert error(rule, attack, "iid") < 0.7


@both
@pytest.mark.parametrize("attack", [gaussian(30), random_update(0, 10), reverse(100), fall_of_empires(10)])
def test_crude_attacks_ruin_the_mean(attack, kind):
    assert error("mean", attack, kind) > 1


@both
@pytest.mark.parametrize("attack", [reverse(100), fall_of_empires(10), gaussian(30)])
def test_krum_never_takes_a_crude_attacker(attack, kind):
    assert times_krum_took_the_attackers(attack, kind) == 0


@both
@pytest.mark.parametrize("knowledge", ["own", "all"])
def test_krum_always_takes_little_is_enough(knowledge, kind):
    assert times_krum_took_the_attackers(little_is_enough(1.035, knowledge), kind) == len(SEEDS)


def test_little_is_enough_harms_median_and_trimmed_mean_of_non_iid_clients_more_than_strong_reversal():
    for rule in ("median", "trimmed-mean"):
        assert error(rule, little_is_enough(1.035, "all"), "non-iid") > 1.3 * error(
            rule, reverse(100), "non-iid"
        )


def test_krum_takes_min_max_and_min_sum_of_iid_clients():
    for attack in (min_max(), min_sum()):
        assert times_krum_took_the_attackers(attack, "iid") == len(SEEDS)


@pytest.mark.parametrize(
    "attack",
    [
        local_model_poisoning("krum", "full"),
        local_model_poisoning("krum", "partial"),
        fall_of_empires(0.1, "all"),
        min_sum(),
    ],
)
def test_attacks_made_for_krum_turn_it_round_on_non_iid_clients(attack):
    assert times_krum_took_the_attackers(attack, "non-iid") == len(SEEDS)
    assert max(cosines("krum", attack, "non-iid")) < 0


@both
@pytest.mark.parametrize("knowledge", ["full", "partial"])
def test_local_model_poisoning_is_the_worst_for_the_rule_it_targets_but_hardly_for_multi_krum(
    knowledge, kind
):
    attack = local_model_poisoning("median", knowledge)
    for crude in (reverse(100), gaussian(30), random_update()):
        assert error("median", attack, kind) > error("median", crude, kind)
        assert error("trimmed-mean", attack, kind) > error("trimmed-mean", crude, kind)
    assert error("multi-krum", attack, kind) < 0.15


def test_mimic_pulls_robust_rules_towards_one_client_where_clients_differ():
    for rule in ("geometric-median", "median", "krum"):
        assert error(rule, mimic(), "non-iid") > error(rule, None, "non-iid")
    assert error("geometric-median", mimic(), "non-iid") > 10 * error("geometric-median", None, "non-iid")


@pytest.mark.parametrize("attack", [fall_of_empires(10), reverse(100), local_model_poisoning("median")])
def test_a_median_inside_each_group_beats_the_plain_median_where_clients_differ(attack):
    def grouped(seed):
        honest, updates = honest_updates("non-iid", seed), attacked_updates(attack, "non-iid", seed)
        parts = [aggregate("median", updates[group == GROUP], honest, attackers=1) for group in range(5)]
        course = honest.mean(axis=0, dtype=np.float64)
        return np.linalg.norm(np.mean(parts, axis=0) - course) / np.linalg.norm(course)

    assert np.mean([grouped(seed) for seed in SEEDS]) < 0.4 * error("median", attack, "non-iid")


def test_without_attackers_median_and_krum_lose_non_iid_clients_and_the_mean_does_not():
    assert error("mean", None, "non-iid") < 1e-5
    assert error("median", None, "non-iid") > 0.3
    assert error("krum", None, "non-iid") > 1
