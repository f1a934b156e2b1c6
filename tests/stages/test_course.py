"""Courses: what clients pull towards over rounds, and who points against its own past."""

from dataclasses import replace

import numpy as np

from flockwise.clustering import louvain
from flockwise.metrics import adjusted_rand
from flockwise.similarity import one_plus_cosine
from flockwise.stages.course import Courses
from flockwise.stages.evidence import Known
from flockwise.stages.grouping import Clustered, Nested
from flockwise.stages.separation import beyond_noise
from flockwise.stages.state import State
from tests.stages.states import a_round, after, batch, state

COURSES = Courses()


def rounds(start, updates, first=1):
    """The rounds in which clients 0, 1, ... send these updates, each after the one before."""
    for number, sent in enumerate(updates, first):
        done = after(COURSES.keep, a_round(start, batch(range(len(sent)), sent, number)))
        start = replace(done.state, round=number)
        yield done


def last(start, updates):
    return list(rounds(start, updates))[-1]


def test_an_update_against_its_clients_own_past_does_not_count():
    straight = np.eye(4, 3) + 0.1
    turned = straight.copy()
    turned[1] *= -5
    *_, before, done = rounds(state([0] * 4), [straight] * 3 + [turned])
    assert before.replies.clients.tolist() == [0, 1, 2, 3]
    assert done.replies.clients.tolist() == [0, 2, 3]
    (event,) = done.events
    assert event.kind == "turned" and event.detail["clients"] == [1]
    assert done.state.labels.tolist() == [0] * 4, "one odd round moves nobody"


def test_who_turns_again_and_again_goes_its_own_way_with_a_new_past():
    straight = np.eye(4, 3) + 0.1
    turned = straight * [[1], [-1], [1], [1]]
    *_, third, fourth = rounds(state([0] * 4), [straight] * 3 + [turned] * 4)
    assert third.state.labels.tolist() == [0, 1, 0, 0]
    assert third.replies.clients.tolist() == [0, 1, 2, 3], "it counts, in its own flock"
    assert np.array_equal(third.state.models[1], third.state.models[0])
    assert fourth.replies.clients.tolist() == [0, 1, 2, 3] and not fourth.events


def test_if_all_of_a_flock_turn_all_count():
    straight = np.eye(4, 3) + 0.1
    done = last(state([0] * 4), [straight] * 3 + [-straight])
    assert len(done.replies.clients) == 4 and not done.events


def test_one_that_answers_alone_does_not_speak_for_its_flock():
    """Where few take part, a wolf that was drawn alone was taken for a flock that has turned."""
    straight = np.eye(4, 3) + 0.1
    held = last(state([0] * 4), [straight] * 3).state
    done = after(COURSES.keep, a_round(replace(held, round=3), batch([1], -straight[1:2], 4)))
    assert not len(done.replies.clients) and [event.kind for event in done.events] == ["turned"]
    own = last(state([0, 1, 0, 0]), [straight] * 3).state
    done = after(COURSES.keep, a_round(replace(own, round=3), batch([1], -straight[1:2], 4)))
    assert done.replies.clients.tolist() == [1], "it is all of its flock"


def test_who_comes_from_another_flock_has_no_past_there():
    straight = np.eye(4, 3) + 0.1
    before = last(state([0, 0, 1, 1, 1, 1]), [np.vstack([straight, straight[:2]])] * 3).state
    labels = before.labels.copy()
    labels[1] = 1  # client 1 was moved
    moved = replace(before, labels=labels, round=3)
    sent = np.vstack([straight, straight[:2]]) * [[1], [-1], [1], [1], [1], [1]]
    done = after(COURSES.keep, a_round(moved, batch(range(6), sent, 4)))
    assert len(done.replies.clients) == 6 and not done.events


def test_parts_of_a_flock_keep_their_past():
    straight = np.eye(6, 3) + 0.1
    before = last(state([0] * 6), [straight] * 3).state
    split = replace(
        before, labels=np.array([0, 0, 0, 1, 1, 1]), models=before.models.repeat(2, axis=0), round=3
    )
    sent = np.vstack([straight[:5], -straight[5:]])
    done = after(COURSES.keep, a_round(split, batch(range(6), sent, 4)))
    assert done.replies.clients.tolist() == [0, 1, 2, 3, 4]


def test_a_loud_client_has_no_longer_course_than_others():
    done = last(state([0, 0]), [np.array([[1.0, 0, 0], [1000.0, 0, 0]])] * 2)
    assert np.allclose(np.linalg.norm(COURSES.known(done).rows, axis=1), 1.0)


def test_courses_are_the_same_after_a_checkpoint():
    sent = [np.random.default_rng(k).normal(size=(5, 3)) for k in range(6)]
    kept = last(state([0] * 5), sent).state
    halfway = list(rounds(state([0] * 5), sent[:3]))[-1].state
    again = State.from_arrays({name: array.copy() for name, array in halfway.to_arrays().items()})
    resumed = list(rounds(replace(again, round=3), sent[3:], first=4))[-1].state
    for name, array in kept.to_arrays().items():
        assert np.array_equal(array, resumed.to_arrays()[name]), name


def _noisy(rng, kinds, noise):
    return np.stack(kinds) + noise * rng.normal(size=(len(kinds), len(kinds[0])))


def test_noise_of_single_rounds_averages_out():
    """Kinds that one round of updates does not show are clear after a few."""
    rng = np.random.default_rng(0)
    common, kinds = rng.normal(size=400), rng.normal(size=(2, 400)) * 0.35
    wanted = [common + kinds[client % 2] for client in range(20)]
    find = Clustered(
        one_plus_cosine, lambda graph, seed: louvain(graph, seed=seed), takes="similarity",
        min_separation=beyond_noise, fewest=8, centred=True,
    )  # fmt: skip
    done = list(rounds(state([0] * 20, dimension=400), [_noisy(rng, wanted, 1.8) for _ in range(6)]))
    flocks = [find.find(COURSES.known(one), one) for one in done]
    assert flocks[0].flocks == 1
    assert adjusted_rand(flocks[-1].labels, np.arange(20) % 2) == 1.0


def test_clients_of_one_kind_stay_together():
    find = Clustered(
        one_plus_cosine, lambda graph, seed: louvain(graph, seed=seed), takes="similarity",
        min_separation=beyond_noise, fewest=8, centred=True,
    )  # fmt: skip
    for seed in range(20):
        rows = np.random.default_rng(seed).normal(size=(20, 300)).astype(np.float32) + 1
        assert find.find(Known(np.arange(20), lambda rows=rows: rows), a_round(state([0] * 20))).flocks == 1


def test_kinds_inside_kinds_are_found_in_one_look():
    """Four kinds, two of which differ much from the other two and little from each other."""
    rng = np.random.default_rng(1)
    far, near = rng.normal(size=(2, 300)), rng.normal(size=(2, 300)) * 0.25
    rows = np.stack([far[c // 2 % 2] + near[c % 2] for c in range(40)]) + 0.3 * rng.normal(size=(40, 300))
    grouping = Clustered(
        one_plus_cosine, lambda graph, seed: louvain(graph, seed=seed), takes="similarity",
        min_separation=beyond_noise, fewest=8, centred=True,
    )  # fmt: skip
    known, now = Known(np.arange(40), lambda: rows.astype(np.float32)), a_round(state([0] * 40))
    assert grouping.find(known, now).flocks == 2
    found = Nested(grouping).find(known, now)
    assert adjusted_rand(found.labels, np.arange(40) % 4) == 1.0


def test_kinds_that_are_alike_in_groups_do_not_hide_each_other():
    """Six kinds in three families: what the kinds of a family differ by looks like noise inside the family."""
    rng = np.random.default_rng(1)
    families, kinds = rng.normal(size=(3, 200)), 1.5 * rng.normal(size=(6, 200))
    rows = np.stack([families[c % 6 // 2] + kinds[c % 6] for c in range(30)]) + 0.3 * rng.normal(
        size=(30, 200)
    )
    known, now = Known(np.arange(30), lambda: rows.astype(np.float32)), a_round(state([0] * 30))
    shallow = Clustered(
        one_plus_cosine, lambda graph, seed: louvain(graph, seed=seed), takes="similarity",
        min_separation=beyond_noise, fewest=8, centred=True,
    )  # fmt: skip
    assert shallow.find(known, now).flocks == 1
    assert adjusted_rand(replace(shallow, hidden=True).find(known, now).labels, np.arange(30) % 6) == 1.0


def test_nothing_is_hidden_in_clients_of_one_kind_nor_in_shares_of_labels():
    find = Clustered(
        one_plus_cosine, lambda graph, seed: louvain(graph, seed=seed), takes="similarity",
        min_separation=beyond_noise, fewest=8, centred=True, hidden=True,
    )  # fmt: skip
    for seed in range(10):
        rng = np.random.default_rng(seed)
        noise = rng.normal(size=(40, 300))
        skewed = rng.dirichlet(np.full(10, 0.3), size=40) @ rng.normal(size=(10, 300)) + 0.1 * noise
        for rows in (noise + 1, skewed):
            known = Known(np.arange(40), lambda rows=rows: rows.astype(np.float32))
            assert find.find(known, a_round(state([0] * 40))).flocks == 1


def test_who_turns_a_little_begins_a_new_course_in_its_flock():
    """Updates of who has little left to learn point anywhere: noise is no reason to go on alone."""
    straight = np.eye(4, 3) + 0.1
    aside = straight.copy()
    aside[1] = [1.0, -0.3, 0.0]  # against its course, but less than half turned round
    *_, second, third, fourth = rounds(state([0] * 4), [straight] * 3 + [aside] * 4)
    assert second.replies.clients.tolist() == [0, 2, 3]
    assert third.replies.clients.tolist() == [0, 1, 2, 3] and (third.state.labels == 0).all()
    assert fourth.replies.clients.tolist() == [0, 1, 2, 3] and not fourth.events


def test_a_pack_that_moves_in_takes_nobody_else_s_past():
    """However many come, they are the ones who begin anew."""
    straight = np.eye(6, 3) + 0.1
    before = last(state([0, 1, 1, 1, 1, 1]), [straight] * 3).state
    done = after(
        COURSES.keep, a_round(replace(before, labels=np.zeros(6, int)), batch(range(6), -straight, 4))
    )
    assert done.replies.clients.tolist() == [1, 2, 3, 4, 5]
    assert [event.detail["clients"] for event in done.events] == [[0]]
