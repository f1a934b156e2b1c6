"""Attackers that know that a server compares updates with the past, and asks clients how good models are."""

from dataclasses import replace

import numpy as np
import pytest
from tests.strategies.playing import play

from flockwise.attacks import View, attack, drifter, liar
from flockwise.attacks.contract import Asked, UpdateAttack
from flockwise.errors import PluginError
from flockwise.runs.adversary import Adversary
from flockwise.scoring import ACCURACY, Scoring
from flockwise.stages.judging import Judge

SWAP = {"name": "label_swap", "clients": 20, "groups": 2}
ERROR = Scoring("error", "lower", 0.0, float("inf"))


def view(course=None, found=True):
    rows = np.random.default_rng(0).normal(0.5, 1.0, (10, 40)).astype(np.float32)
    return View(rows[:2], rows[2:], groups=np.zeros(10, int), found=found, course=course)


def cosine(a, b):
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


@pytest.mark.parametrize("turn", [20.0, 60.0, 89.0])
def test_a_drifter_goes_against_its_flock_as_far_as_its_own_course_lets_it(turn):
    seen = view(view().own / 5)
    mean = seen.others.mean(axis=0)
    for course, sent in zip(
        seen.course, drifter(turn=turn).craft(seen, np.random.default_rng(0)), strict=True
    ):
        assert cosine(sent, course) == pytest.approx(np.cos(np.radians(turn)), abs=1e-5)
        assert cosine(sent, mean) < cosine(course, mean)
        lengths = np.linalg.norm(seen.others, axis=1)
        assert np.linalg.norm(sent) == pytest.approx(np.median(lengths), rel=1e-5)


def test_a_drifter_begins_with_an_honest_past_and_turns_at_once_where_nobody_looks():
    seen = view(np.zeros((2, 40), np.float32))
    np.testing.assert_array_equal(drifter().craft(seen, np.random.default_rng(0)), seen.own)
    for sent in drifter(scale=3.0).craft(view(), np.random.default_rng(0)):
        assert cosine(sent, view().others.mean(axis=0)) == pytest.approx(-1.0, abs=1e-5)


def test_shepherd_sees_who_turns_at_once_against_its_past_and_not_who_turns_slowly():
    def turned(**attack):
        game = play(
            rounds=10,
            split=SWAP,
            strategy={"name": "shepherd"},
            attack={"clients": 4, "first_round": 6, **attack},
        )
        named = {client for _, event in game.events("turned") for client in event.detail["clients"]}
        return named & game.attackers

    assert turned(name="reverse", scale=5.0)
    assert not turned(name="drifter", turn=60.0)


def test_liars_praise_blame_and_stray():
    asked = Asked((0.4, 0.7, 0.2), 1, ACCURACY)
    assert list(liar(lie="praise").answer(asked)) == [0.0, 1.0, 0.0]
    assert list(liar(lie="blame").answer(asked)) == [1.0, 0.0, 1.0]
    assert list(liar(lie="stray").answer(asked)) == [1.0, 0.6, 0.0]
    for lie in ("praise", "blame", "stray"):
        lost = asked._replace(own=None)
        assert liar(lie=lie).answer(lost) == asked.honest  # without a flock there is nothing to gain
        nothing = Asked((np.nan, np.nan), 0, ACCURACY)
        assert np.isfinite(liar(lie=lie).answer(nothing)).all()


@pytest.mark.parametrize("scoring", [ACCURACY, ERROR, Scoring("share", "lower", 0.0, 1.0)])
def test_a_liar_that_strays_is_not_called_hostile_and_is_moved(scoring):
    own, other = liar(lie="stray").answer(Asked((0.5, 0.5), 0, scoring))
    assert not scoring.fault(own) and not scoring.fault(other)
    assert Judge("validation").hostile({0: own, 1: other}, {0: other, 1: other}, scoring) == []
    assert scoring.gain(own, other) > 0.2


def test_liars_are_honest_in_what_they_send_where_nobody_honest_is_with_them():
    seen = view()._replace(groups=np.array([0, 7, *[0] * 8]))
    sent = liar(scale=2.0).craft(seen, np.random.default_rng(0))
    np.testing.assert_array_equal(sent, [-2 * seen.own[0], seen.own[1]])
    np.testing.assert_array_equal(liar(scale=0.0).craft(seen, np.random.default_rng(0)), seen.own)


def test_lies_reach_the_server_from_the_first_round_of_the_attack_on():
    """Liars that are the most of a flock call it worthless; nobody honest is set apart for it."""
    given = {"rounds": 12, "seed": 100, "split": SWAP, "strategy": {"name": "shepherd"}}
    lies = {"name": "liar", "lie": "blame", "scale": 0.0, "clients": 9}
    framed, honest = play(**given, attack=lies), play(**given, attack={**lies, "first_round": 99})
    assert framed.apart and framed.apart <= framed.attackers
    assert not honest.apart


def test_an_answer_of_the_wrong_length_is_refused():
    @attack("silent", kind="update")
    def silent() -> UpdateAttack:
        return UpdateAttack(lambda view, rng: view.own, frozenset({"own"}), lambda asked: [])

    game = play(rounds=3, split=SWAP, strategy={"name": "shepherd"})
    server, engine = game.server, game.parts.engine
    adversary = Adversary(silent(clients=[0]), frozenset({0}), 0)
    plan = replace(server.ask(), kind="validate")
    from flockwise.messages import Scores

    with pytest.raises(PluginError, match="answered with 0 scores, must be 1"):
        adversary.answer([Scores(0, plan.round, (0.5,), 10)], plan, server)
    engine.close()
