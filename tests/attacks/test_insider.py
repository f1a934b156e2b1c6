"""Insiders rehearse the defence, and send what harms most of what it lets pass."""

from functools import partial

import numpy as np
import pytest
from tests.strategies.playing import play

from flockwise.attacks import View, insider
from flockwise.attacks.contract import Asked, Rehearsal
from flockwise.errors import InputError
from flockwise.scoring import ACCURACY

SWAP = {"name": "label_swap", "clients": 20, "groups": 2}


def watched(others, longest, own):
    """A server that takes the mean, and splits off whoever is longer than this."""
    away = np.linalg.norm(own, axis=1) > longest
    kept = np.concatenate([own[~away], others])
    steps = np.tile(kept.mean(axis=0), (len(others), 1))
    return Rehearsal(away.astype(int), np.zeros(len(others), int), steps)


def view(longest=np.inf, found=True, course=None):
    rows = np.random.default_rng(0).normal(0.5, 1.0, (10, 40)).astype(np.float32)
    rehearse = partial(watched, rows[3:], longest)
    return View(rows[:3], rows[3:], groups=np.zeros(10, int), found=found, course=course, rehearse=rehearse)


def sent(seen):
    return insider().craft(seen, np.random.default_rng(0))


@pytest.mark.parametrize("longest", [9.0, 16.0, 30.0])
def test_an_insider_goes_as_far_as_the_defence_lets_it_and_no_further(longest):
    seen = view(longest)
    mean = seen.others.mean(axis=0)
    rows = sent(seen)
    assert (np.linalg.norm(rows, axis=1) <= longest).all()
    after, honest = seen.rehearse(rows), seen.rehearse(seen.own)
    assert not after.own.any()
    assert float(after.steps[0] @ mean) < float(honest.steps[0] @ mean)


def test_an_insider_is_honest_where_nothing_else_would_pass_and_before_flocks_are_looked_for():
    for seen in (view(longest=0.0), view(found=False)):
        np.testing.assert_array_equal(sent(seen), seen.own)


def test_of_what_points_against_its_own_course_an_insider_tries_what_no_longer_does():
    seen = view()
    mean = seen.others.mean(axis=0)

    def along(rows):  # a server on which only what points along this counts
        counts = rows @ mean >= 0
        steps = np.tile(np.concatenate([rows[counts], seen.others]).mean(axis=0), (7, 1))
        return Rehearsal(np.zeros(3, int), np.zeros(7, int), steps)

    course = np.tile(mean, (3, 1)).astype(np.float32)
    rows = sent(seen._replace(rehearse=along, course=course))
    assert (rows @ mean >= 0).all() and np.linalg.norm(rows - seen.own) > 1


def test_an_insider_says_that_its_own_flock_s_model_is_as_good_as_the_best():
    answer = insider().answer
    assert list(answer(Asked((0.2, 0.9, 0.5), 0, ACCURACY))) == [0.9, 0.9, 0.5]
    assert list(answer(Asked((0.2, 0.9), None, ACCURACY))) == [0.2, 0.9]
    assert np.isnan(answer(Asked((np.nan, np.nan), 0, ACCURACY))).all()


def test_an_insider_needs_a_copy_of_the_server():
    with pytest.raises(InputError, match="insider needs a copy of the server"):
        sent(view()._replace(rehearse=None))


def test_a_rehearsal_leaves_the_server_as_it_was():
    given = {"rounds": 6, "split": SWAP, "strategy": {"name": "shepherd"}}
    plain = play(**given, attack={"name": "reverse", "clients": 3, "first_round": 99})
    server = plain.server
    before = {name: array.copy() for name, array in server.state.to_arrays().items()}
    plan = server.ask()
    assert server.rehearse(()).round == server.round + 1
    assert server.ask() is plan
    for name, array in server.state.to_arrays().items():
        np.testing.assert_array_equal(array, before[name])


def test_insiders_do_more_harm_to_shepherd_than_the_white_box_does():
    given = {"rounds": 20, "seed": 100, "split": SWAP, "strategy": {"name": "shepherd"}}
    plain, inside = (play(**given, attack={"name": name, "clients": 9}) for name in ("white-box", "insider"))
    assert inside.mean_accuracy < plain.mean_accuracy - 0.02
