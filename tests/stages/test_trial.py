"""Who moves by its own word counts once it has gone along with its new flock; who was split off has no way back in."""

from dataclasses import replace

import numpy as np
import pytest

import flockwise as fw
from flockwise import stages as do
from flockwise.scoring import ACCURACY
from flockwise.similarity import one_plus_cosine
from flockwise.stages.evidence import this_round
from flockwise.stages.judging import Judge, _marks
from flockwise.stages.place import place
from flockwise.stages.state import UNPLACED
from flockwise.stages.timing import FOUND, Looked
from flockwise.stages.train import HEARD, Heard
from flockwise.stages.trial import PROOFS, Trial, looks_alike, on_trial
from tests.stages.states import a_round, after, asked, batch, scored, state
from tests.strategies.playing import play

MOVER = 8
TRIAL = Trial(this_round)
FOLLOW = TRIAL.of_movers(place(0.2))


def updates(against=(), count=9, seed=0):
    """All pull the same way, the last exactly there, but for some."""
    rows = 1 + 0.4 * np.random.default_rng(seed).standard_normal((count, 60))
    rows[-1] = 1.0
    rows[list(against)] *= -1
    return rows.astype(np.float32)


def begun(labels, number=1):
    """The state after a round in which all have counted; flocks were found before it."""
    start = state(labels, dimension=60, round=number - 1, memory=[(FOUND, Looked(1))])
    return held(start).state


def held(start, against=(), seed=0):
    free = np.flatnonzero(start.free & (start.labels != UNPLACED))
    rows = updates(against, start.clients, seed)[free]
    return after(TRIAL.hold_back, a_round(start, batch(free, rows)))


def moved(start, to=0, mover=MOVER):
    """The mover says that another flock suits it better."""
    start = HEARD.put(replace(start, round=start.round + 1), Heard(np.array([mover])))
    told = [0.1, 0.1]
    told[to] = 0.9
    return asked(FOLLOW, a_round(start), scored({mover: tuple(told)}, start.round + 1))[1].state


LABELS = [0] * 7 + [1] * 2


def test_who_moves_does_not_count_until_it_has_gone_along_for_some_rounds():
    now = moved(begun(LABELS))
    assert now.labels[MOVER] == 0
    assert on_trial(now).nonzero()[0].tolist() == [MOVER]
    for number in range(PROOFS):
        round = held(now, seed=number)
        counted = MOVER in round.replies.clients
        assert counted == (number == PROOFS - 1)
        assert {event.kind for event in round.events} == {"settled" if counted else "trial"}
        now = round.state
    assert not on_trial(now).any()
    assert MOVER in held(now).replies.clients


def test_who_goes_against_its_new_flock_never_counts():
    now = moved(begun(LABELS))
    for number in range(20):
        round = held(now, against=[MOVER], seed=number)
        assert round.replies.clients.tolist() == [0, 1, 2, 3, 4, 5, 6, 7]
        now = round.state


def test_each_further_move_of_one_that_counts_takes_twice_as_long():
    now, needed = begun([0] * 4 + [1] * 5), []
    for time in range(3):
        now = moved(now, to=time % 2)
        rounds = 0
        while on_trial(now)[MOVER]:
            now, rounds = held(now, seed=rounds).state, rounds + 1
        needed.append(rounds)
    assert needed == [PROOFS, 2 * PROOFS, 4 * PROOFS]


def test_who_moves_on_while_on_trial_begins_again_and_no_longer():
    now = moved(moved(begun([0] * 4 + [1] * 5), to=0), to=1)
    for number in range(PROOFS):
        now = held(now, seed=number).state
    assert not on_trial(now).any()


def test_who_is_heard_for_the_first_time_is_on_no_trial():
    start = begun([0] * 4 + [1] * 4 + [UNPLACED])
    now = moved(start, to=1)
    assert now.labels[MOVER] == 1 and not on_trial(now).any()
    assert MOVER in held(now).replies.clients


def test_who_lost_its_flock_and_finds_one_is_on_trial_there():
    start = begun(LABELS)
    labels = start.labels.copy()
    labels[MOVER] = UNPLACED
    lost = replace(start, labels=labels)
    assert on_trial(moved(lost, to=1))[MOVER]
    chosen = labels.copy()
    chosen[MOVER] = 1  # as one without validation data does when it trains
    rows = batch(np.arange(9), updates())
    round = after(TRIAL.hold_back, replace(a_round(replace(lost, labels=chosen), rows), before=lost))
    assert round.replies.clients.tolist() == list(range(8))


def test_in_a_flock_of_nobody_else_clients_on_trial_are_the_flock():
    now = moved(moved(begun(LABELS)), mover=7)
    labels = now.labels.copy()
    labels[[7, MOVER]] = 1  # split off again
    round = held(replace(now, labels=labels), against=[7, MOVER])
    assert round.replies.clients.tolist() == list(range(9))
    assert not on_trial(round.state).any()


def test_who_is_on_trial_has_no_voice_when_its_flock_is_judged():
    now = moved(begun([0] * 2 + [1] * 7))
    now = replace(now, labels=np.array([0, 0, 1, 1, 1, 1, 1, 1, 0]))
    told = scored(dict.fromkeys((0, 1), (0.9, 0.1)) | {MOVER: (0.0, 1.0)})
    own, best = _marks(now, Judge("validation"), [0, 1], told, ACCURACY)
    assert (own[0], best[0]) == (0.9, 0.9)
    assert np.isnan(own[1])


def test_what_looks_alike():
    rows = updates(count=8)
    assert looks_alike(rows[1:], rows[:1]).all()
    assert not looks_alike(rows[1:], -rows[:1]).any()
    assert not looks_alike(rows[1:], np.zeros((1, 60), np.float32)).any()
    assert looks_alike(rows[1:2], rows[:1]).all()  # one other: along it
    assert not looks_alike(rows[1:2], -rows[:1]).any()


@pytest.mark.parametrize("few", [1, 2, 12])
def test_honest_updates_that_hardly_agree_pass(few):
    failed = []
    for seed in range(200):
        rows = (0.3 + np.random.default_rng(seed).standard_normal((few + 1, 300))).astype(np.float32)
        failed.append(not looks_alike(rows[1:], rows[:1])[0])
    assert np.mean(failed) < 0.1


SWAPPED = {"name": "label_swap", "clients": 20, "groups": 2}


def named(game, kind):
    return {client for _, event in game.events(kind) for client in event.detail["clients"]}


def test_liars_that_stray_never_count_among_the_honest_again():
    """Split off, they say that another flock suits them better, and send their updates turned round there."""
    game = play(
        rounds=25, seed=102, split=SWAPPED, strategy={"name": "shepherd"},
        attack={"name": "liar", "lie": "stray", "clients": 9},
    )  # fmt: skip
    came = {event.client for _, event in game.events("moved")} & game.attackers
    assert len(came) >= 5 and came <= named(game, "trial")
    honest = set(range(20)) - game.attackers
    flocks = {game.labels[client] for client in honest}
    among = {client for client in game.attackers if game.labels[client] in flocks}
    assert among <= set(np.flatnonzero(on_trial(game.server.state)).tolist())
    assert game.mean_accuracy > 0.9


def test_honest_clients_whose_data_change_move_pass_and_count():
    game = play(
        rounds=25, seed=100, split={**SWAPPED, "validation": 0.2}, strategy={"name": "shepherd"},
        faults={"drift_clients": 4, "drift_round": 9},
    )  # fmt: skip
    came = {event.client for number, event in game.events("moved") if number <= 18}
    assert came and came <= named(game, "trial")
    assert came <= named(game, "settled")
    assert not game.apart
    assert game.mean_accuracy > 0.9


def test_any_chain_may_put_movers_on_trial(tmp_path):
    trial, louvain = do.Trial(do.this_round), lambda graph, seed: fw.clustering.louvain(graph, seed=seed)
    round = do.chain(
        do.train(), trial.hold_back, do.average(fw.mean()),
        do.find_flocks(do.this_round, do.Clustered(one_plus_cosine, louvain, "similarity"), do.once(6)),
        trial.of_movers(do.place(0.0)),
    )  # fmt: skip
    clients = fw.splits.label_swap(fw.data.digits(), clients=12, groups=2, seed=1)
    training = fw.SGD(epochs=5, learning_rate=0.1)
    run = fw.run(do.Method(round), clients, model="mlp", training=training, rounds=9, out=tmp_path / "run")
    assert run.state == "finished" and len(run.flocks) == 2


def test_newcomers_count_from_their_first_round_in_a_flock():
    game = play(
        rounds=16, split={"name": "label_swap", "clients": 16, "groups": 2}, strategy={"name": "shepherd"},
        faults={"late_clients": 3, "late_round": 10},
    )  # fmt: skip
    assert len({event.client for _, event in game.events("placed")}) == 3
    assert not game.events("trial")
