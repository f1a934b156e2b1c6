"""Own steps: the flock's model one mean update further along a client's course, for whom that serves better."""

from dataclasses import replace

import numpy as np
import pytest

from flockwise.messages import Scores
from flockwise.scoring import ACCURACY, Scoring
from flockwise.stages import Setting
from flockwise.stages.attribution import shared
from flockwise.stages.course import Courses
from flockwise.stages.own_step import OwnStep, chance
from flockwise.stages.state import State
from flockwise.stages.train import HEARD, Heard
from tests.stages.states import a_round, after, asked, batch, state

OWN, KEEP = OwnStep(every=5), Courses().keep
SENT = np.array([[3.0, 0, 0], [0, 4, 0], [0, 0, 5], [1, 1, 0], [0, 1, 1]])
WORSE, BETTER, MUCH_BETTER = (0.8, 0.6), (0.6, 0.7), (0.1, 0.9)


def trained(labels=(0,) * 5, rounds=5, sent=SENT):
    """The state before round `rounds` ends, after as many rounds in which clients sent the same."""
    now = state(labels)
    for number in range(1, rounds + 1):
        done = after(KEEP, a_round(now, batch(range(len(labels)), sent, number)))
        now = replace(done.state, round=number)
    return HEARD.put(replace(now, round=rounds - 1), Heard(np.arange(len(labels))))


def answers(told, samples=40, round=5):
    return tuple(Scores(client, round, values, samples) for client, values in enumerate(told))


def chosen(before, told, **setting):
    plan, done = asked(OWN.choose, a_round(before, **setting), answers(told))
    models, rows = OWN.assign(done.state, Setting())
    return plan, done, models, rows


def test_a_client_compares_its_flocks_model_with_one_step_along_its_course():
    plan, *_ = chosen(trained([0, 0, 0, 1, 1]), [WORSE] * 5)
    assert plan.kind == "validate" and [task.client for task in plan.tasks] == [0, 1, 2, 3, 4]
    for task, home, sent in zip(plan.tasks, [0, 0, 0, 1, 1], SENT, strict=True):
        flocks, own = (plan.models[row] for row in task.models)
        assert (flocks == home).all() and np.allclose(own, home + sent, atol=1e-5)


def test_who_is_clearly_better_off_has_its_own_model_and_the_others_their_flocks():
    _, done, models, rows = chosen(trained(), [WORSE, WORSE, MUCH_BETTER, WORSE, BETTER])
    assert rows.tolist() == [0, 0, 1, 0, 0], "a tenth better on forty samples is chance"
    assert np.allclose(models[1], SENT[2], atol=1e-5)
    assert done.facts["own_models"] == 1
    (event,) = done.events
    assert event.kind == "own" and event.detail["clients"] == [2]
    assert shared(OWN).assign(done.state, Setting())[1].tolist() == [0] * 5


def test_little_is_enough_where_most_of_a_flock_say_the_same():
    *_, rows = chosen(trained(), [BETTER, BETTER, BETTER, WORSE, BETTER])
    assert rows.tolist() == [1, 2, 3, 0, 4]


def test_a_flock_is_not_believed_for_what_another_says():
    *_, rows = chosen(trained([0, 0, 0, 1, 1]), [BETTER, BETTER, BETTER, WORSE, BETTER])
    assert rows[4] == 1, "of two in flock 1, one is worse off"


def test_without_validation_data_everybody_has_the_flocks_model():
    nothing = (float("nan"), float("nan"))
    *_, rows = chosen(trained(), [nothing] * 5)
    assert rows.tolist() == [0] * 5


def test_clients_are_asked_again_after_five_rounds_and_may_change_their_mind():
    _, done, *_ = chosen(trained(), [MUCH_BETTER] * 5)
    after(OWN.choose, a_round(replace(done.state, round=8)))  # asks nobody
    _, done = asked(OWN.choose, a_round(replace(done.state, round=9)), answers([WORSE] * 5, round=10))
    assert OWN.assign(done.state, Setting())[1].tolist() == [0] * 5


def test_who_moves_to_another_flock_leaves_its_own_model_behind():
    _, done, *_ = chosen(trained([0, 0, 0, 1, 1]), [MUCH_BETTER] * 5)
    labels = done.state.labels.copy()
    labels[0] = 1
    _, rows = OWN.assign(replace(done.state, labels=labels), Setting())
    assert rows.tolist() == [1, 2, 3, 4, 5]


def test_nobody_has_its_own_before_it_has_a_past_nor_where_updates_are_sketched():
    after(OWN.choose, a_round(trained(rounds=2)))
    after(OWN.choose, a_round(trained(), sketch=128))


def test_whoever_sends_numbers_without_bounds_harms_nobody_else():
    sent = SENT.copy()
    sent[1] = 3e38
    plan, *_ = chosen(trained(sent=sent), [WORSE] * 5)
    assert np.isfinite(np.delete(plan.models, 2, axis=0)).all()


def test_only_what_is_learned_moves():
    """Running statistics of batch normalisation are no part of a course."""
    now = replace(state([0, 0], dimension=4), round=4)
    setting = {"learned": ((0, 1), (2, 4))}
    for number in range(1, 6):
        sent = np.array([[1.0, 9, 2, 3], [4, 9, 5, 6]])
        now = after(
            KEEP, a_round(replace(now, round=number - 1), batch([0, 1], sent, number), **setting)
        ).state
    before = HEARD.put(now, Heard(np.arange(2)))
    plan, _ = asked(OWN.choose, a_round(before, **setting), answers([WORSE] * 2))
    assert np.allclose(plan.models[1:], [[1, 0, 2, 3], [4, 0, 5, 6]], atol=1e-5)


def test_own_models_are_the_same_after_a_checkpoint():
    _, done, models, rows = chosen(trained(), [MUCH_BETTER, WORSE, WORSE, WORSE, WORSE])
    again = State.from_arrays({name: array.copy() for name, array in done.state.to_arrays().items()})
    for before, now in zip((models, rows), OWN.assign(again, Setting()), strict=True):
        assert np.array_equal(before, now)


def test_a_run_of_an_older_release_goes_on_with_courses_that_have_no_length():
    saved = {name: array.copy() for name, array in trained().to_arrays().items()}
    saved = {name: array for name, array in saved.items() if not name.endswith(("/length", "/clearly"))}
    after(OWN.choose, a_round(State.from_arrays(saved)))  # asks nobody yet


@pytest.mark.parametrize(
    ("scoring", "values", "samples", "deviation"),
    [(ACCURACY, (0.5, 0.5), 100, 0.05), (ACCURACY, (0.9, 0.9), 100, 0.03), (ACCURACY, (1.0, 1.0), 10, 0.0),
     (Scoring("mae", "lower", 0.0, np.inf), (0.2, 0.1), 100, 0.1)],
)  # fmt: skip
def test_chance_is_larger_on_few_samples(scoring, values, samples, deviation):
    assert chance(Scores(0, 1, values, samples), scoring) == pytest.approx(deviation)
