import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from flockwise.splits.apportion import apportion
from flockwise.splits.sizes import largest_remainder


@st.composite
def tables(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    clients, labels = draw(st.integers(1, 8)), draw(st.integers(1, 6))
    numbers = st.floats(0.01, 1.0) | st.just(0.0)
    mixes = np.array([[draw(numbers) for _ in range(labels)] for _ in range(clients)])
    sizes = np.array([draw(st.integers(0, 20)) for _ in range(clients)])
    pool = np.array([draw(st.integers(0, 40)) for _ in range(labels)])
    return mixes, sizes, pool


def most_that_fit(allowed: np.ndarray, sizes: np.ndarray, pool: np.ndarray) -> int:
    """The largest deal, as the smallest cut between clients and labels, by trying every set of labels."""
    best = None
    for chosen in range(2 ** len(pool)):
        inside = np.array([(chosen >> label) & 1 for label in range(len(pool))], dtype=bool)
        needs_outside = allowed[:, ~inside].any(axis=1)
        cut = pool[inside].sum() + sizes[needs_outside].sum()
        best = cut if best is None else min(best, cut)
    assert best is not None
    return int(best)


@given(tables())
@settings(max_examples=200, deadline=None)
def test_as_much_is_dealt_as_any_deal_could_and_never_more_than_asked_or_there(
    table: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    mixes, sizes, pool = table
    counts = apportion(mixes, sizes, pool)
    assert (counts >= 0).all()
    assert (counts.sum(axis=1) <= sizes).all() and (counts.sum(axis=0) <= pool).all()
    assert (counts[mixes == 0] == 0).all()
    assert counts.sum() == most_that_fit(mixes > 0, sizes, pool)


@given(tables())
@settings(max_examples=100, deadline=None)
def test_with_plenty_every_row_is_its_mix_rounded(table: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    mixes, sizes, _ = table
    mixes = mixes + 0.01
    counts = apportion(mixes, sizes, np.full(mixes.shape[1], 1000))
    exact = mixes / mixes.sum(axis=1, keepdims=True) * sizes[:, np.newaxis]
    assert (np.abs(counts - exact) < 1).all()
    assert counts.sum(axis=1).tolist() == sizes.tolist()


def test_a_scarce_label_is_divided_fairly_between_those_who_want_it() -> None:
    counts = apportion(np.array([[1.0], [1.0], [2.0]]), np.array([10, 10, 10]), np.array([15]))
    assert counts.ravel().tolist() == [5, 5, 5]


@given(st.lists(st.floats(0.01, 10), min_size=1, max_size=20), st.integers(0, 500))
def test_largest_remainder_adds_up_and_stays_within_one(weights: list[float], total: int) -> None:
    values = np.array(weights)
    counts = largest_remainder(values, total)
    assert counts.sum() == total
    assert (np.abs(counts - values / values.sum() * total) < 1 + 1e-9).all()
