import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flockwise.errors import InputError
from flockwise.similarity import Evidence, cosine


def random_rows(count, size=50, seed=0):
    return np.random.default_rng(seed).standard_normal((count, size)).astype(np.float32)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.integers(0, 7), unique=True, max_size=8), max_size=6))
def test_always_equals_the_cosines_of_the_latest_updates(rounds):
    evidence, latest = Evidence(8, 50), {}
    for number, clients in enumerate(rounds):
        rows = random_rows(len(clients), seed=number)
        evidence = evidence.update(clients, rows, number)
        latest.update(zip(clients, rows, strict=True))
    heard = sorted(latest)
    assert np.flatnonzero(evidence.heard).tolist() == heard
    result = evidence.cosine()
    assert np.array_equal(~np.isnan(result), np.outer(evidence.heard, evidence.heard))
    if heard:
        expected = cosine(np.stack([latest[client] for client in heard]))
        np.testing.assert_allclose(result[np.ix_(heard, heard)], expected, atol=1e-6)
        assert np.array_equal(evidence.rows[heard], np.stack([latest[client] for client in heard]))


def test_never_compared_is_not_similarity_zero():
    evidence = Evidence(3, 2)
    evidence = evidence.update([0, 2], [[1.0, 0.0], [0.0, 1.0]], 0)
    result = evidence.cosine()
    assert result[0, 2] == 0 and np.isnan(result[0, 1]) and np.isnan(result[1, 1]) and result[0, 0] == 1


def test_a_reversed_client_is_opposed_to_its_victim():
    row = random_rows(1)[0]
    evidence = Evidence(2, 50)
    evidence = evidence.update([0], [row], 0)
    evidence = evidence.update([1], [-row], 1)
    assert evidence.cosine()[0, 1] == pytest.approx(-1, abs=1e-6)


def test_old_updates_are_ignored():
    evidence = Evidence(3, 50, max_age=2)
    evidence = evidence.update([0, 1], random_rows(2), 1)
    evidence = evidence.update([2], random_rows(1, seed=1), 3)
    assert evidence.usable(3).tolist() == [True, True, True]
    assert evidence.usable(4).tolist() == [False, False, True]
    assert evidence.usable().tolist() == [True, True, True]
    assert np.isnan(evidence.cosine(4)[0]).all() and evidence.cosine(4)[2, 2] == 1
    assert evidence.round.tolist() == [1, 1, 3]


def test_a_restored_memory_goes_on_with_the_same_bits():
    first = Evidence(20, 30_000, max_age=3)
    rng = np.random.default_rng(0)
    for number in range(3):
        first = first.update(rng.permutation(20)[:7], random_rows(7, 30_000, number), number)
    second = Evidence.from_arrays({name: array.copy() for name, array in first.arrays().items()})
    for number in range(3, 6):
        clients = rng.permutation(20)[:7]
        first, second = (
            evidence.update(clients, random_rows(7, 30_000, number), number) for evidence in (first, second)
        )
    assert first.cosine().tobytes() == second.cosine().tobytes()
    assert {n: a.tobytes() for n, a in first.arrays().items()} == {
        n: a.tobytes() for n, a in second.arrays().items()
    }


def test_a_state_that_cannot_be_written_to_is_copied():
    first = Evidence(2, 50)
    first = first.update([0], random_rows(1), 0)
    frozen = {name: array.copy() for name, array in first.arrays().items()}
    for array in frozen.values():
        array.setflags(write=False)
    second = Evidence.from_arrays(frozen)
    second = second.update([1], random_rows(1, seed=1), 1)
    assert not frozen["rows"][1].any() and second.heard.all()


def test_updates_are_copied_in():
    rows = random_rows(1)
    evidence = Evidence(2, 50)
    evidence = evidence.update([0], rows, 0)
    rows[:] = 0
    assert evidence.rows[0].any()


@pytest.mark.parametrize(
    ("clients", "rows"),
    [
        ([3], [[1.0, 2.0]]),
        ([-1], [[1.0, 2.0]]),
        ([0, 0], [[1.0, 2.0]] * 2),
        ([0], [[1.0]]),
        ([0], [[np.nan, 1.0]]),
    ],
)
def test_wrong_updates_are_refused_and_leave_no_trace(clients, rows):
    evidence = Evidence(3, 2)
    with pytest.raises(InputError):
        evidence.update(clients, rows, 0)
    assert not evidence.heard.any() and not evidence.rows.any()
