"""Who was set apart by a judge may try again; who was set apart by a person waits for a person."""

from dataclasses import replace

import numpy as np

from flockwise.stages.parole import parole, unlike
from flockwise.stages.stage import Round
from flockwise.stages.state import CONFIRMED, FREE, QUARANTINED, UNPLACED, first_state
from tests.strategies.playing import play


def after(state, number, sentence=(), by_hand=()):
    """The state after a round in which a judge sets some apart, and before which a person did."""
    apart = state.apart.copy()
    apart[list(by_hand)] = QUARANTINED
    start = replace(state, apart=apart, round=number - 1)
    judged = apart.copy()
    judged[list(sentence)] = QUARANTINED
    steps = parole(3).run(Round(replace(start, apart=judged), before=start))
    try:
        next(steps)
    except StopIteration as done:
        return replace(done.value.state, round=number), done.value.events
    raise AssertionError


def test_a_sentence_ends_and_the_next_is_twice_as_long():
    state = first_state(np.zeros((1, 2), np.float32), 4)
    state, _ = after(state, 1, sentence=[2])
    served = []
    for number in range(2, 12):
        state, events = after(state, number, sentence=[2] if number == 5 else ())
        served.append(int(state.apart[2]))
        if number in (4, 11):
            assert [(event.kind, event.client) for event in events] == [("released", 2)]
            assert state.labels[2] == UNPLACED
    assert served == [1, 1, 0] + [1] * 6 + [0]  # 3 rounds, then 6


def test_whom_a_person_set_apart_stays_apart():
    state = first_state(np.zeros((1, 2), np.float32), 3)
    state, _ = after(state, 1, by_hand=[0])
    for number in range(2, 20):
        state, events = after(state, number)
        assert not events
    assert state.apart.tolist() == [QUARANTINED, FREE, FREE]


def test_whom_a_person_confirms_is_not_let_in():
    state = first_state(np.zeros((1, 2), np.float32), 3)
    state, _ = after(state, 1, sentence=[1])
    state = replace(state, apart=np.array([FREE, CONFIRMED, FREE], np.int8))
    for number in range(2, 9):
        state, _ = after(state, number)
    assert state.apart[1] == CONFIRMED


def test_attackers_on_parole_do_little_harm():
    game = play(
        rounds=26, split={"name": "iid", "clients": 12}, strategy={"name": "shepherd", "parole_after": 4},
        attack={"name": "reverse", "clients": 3, "scale": 5.0},
    )  # fmt: skip
    released = [event.client for _, event in game.events("released")]
    assert set(released) == game.attackers
    assert game.mean_accuracy > 0.85


def test_who_comes_back_must_look_like_the_others():
    rng = np.random.default_rng(0)
    rows = (1 + 0.5 * rng.standard_normal((8, 60))).astype(np.float32)
    members = np.arange(8) >= 3
    assert not unlike(rows, members).any()
    rows[0] *= -1
    rows[1] *= 10
    assert unlike(rows, members).tolist() == [True, True, *[False] * 6]


def test_honest_clients_pass_their_probation():
    """Also where updates hardly agree: near convergence, or with few labels each."""
    failed = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        rows = (0.1 + rng.standard_normal((12, 300))).astype(np.float32)
        failed.append(unlike(rows, np.arange(12) > 0)[0])
    assert np.mean(failed) < 0.05


def test_attackers_on_parole_that_still_shout_are_set_apart_again():
    game = play(
        rounds=26, split={"name": "iid", "clients": 12}, strategy={"name": "shepherd", "parole_after": 4},
        attack={"name": "model-replacement", "clients": 3, "scale": 10.0},
    )  # fmt: skip
    again = [event for _, event in game.events("quarantine") if "parole" in event.message]
    assert again and set(again[0].detail["clients"]) <= game.attackers
    assert not game.apart - game.attackers
