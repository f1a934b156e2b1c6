"""A table is changed in place for speed, and still every older version reads as it was."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from flockwise.similarity import ClientTable, Evidence

CLIENTS = 6


def copied(arrays):
    return {name: array.copy() for name, array in arrays.items()}


def same(one, other):
    return one.keys() == other.keys() and all(one[name].tobytes() == other[name].tobytes() for name in one)


def fresh():
    return ClientTable(
        {
            "rows": np.zeros((CLIENTS, 3), np.float32),
            "round": np.full(CLIENTS, -1),
            "square": np.zeros((CLIENTS, CLIENTS)),
        },
        frozenset({"square"}),
    )


@st.composite
def changes(draw):
    """Which version is changed, whose rows, and to what; squares with bits that differ across the diagonal."""
    steps = []
    for number in range(draw(st.integers(1, 8))):
        clients = np.array(
            draw(st.lists(st.integers(0, CLIENTS - 1), unique=True, min_size=1, max_size=CLIENTS))
        )
        rng = np.random.default_rng(draw(st.integers(0, 1000)))
        rows = {
            "rows": rng.normal(size=(len(clients), 3)).astype(np.float32),
            "round": np.full(len(clients), number),
            "square": rng.normal(size=(len(clients), CLIENTS)),
        }
        kept = draw(st.sets(st.sampled_from(sorted(rows)), min_size=1))
        steps.append((draw(st.integers(0, number)), clients, {name: rows[name] for name in kept}))
    return steps


def expected_after(arrays, clients, rows):
    after = copied(arrays)
    for name, new in rows.items():
        after[name][clients] = new
    for name, new in rows.items():
        if name == "square":
            after[name][:, clients] = new.T
    return after


@settings(max_examples=200, deadline=None)
@given(changes(), st.data())
def test_every_version_reads_as_it_was_whichever_is_changed_and_read_next(steps, data):
    versions, read = [fresh()], [copied(fresh().arrays())]
    for which, clients, rows in steps:
        versions.append(versions[which].changed(clients, **rows))
        read.append(expected_after(read[which], clients, rows))
        looked_at = data.draw(st.integers(0, len(versions) - 1))
        assert same(versions[looked_at].arrays(), read[looked_at])
    for version, before in data.draw(st.permutations(list(zip(versions, read, strict=True)))):
        assert same(version.arrays(), before)


def test_the_newest_version_is_not_copied():
    table = fresh()
    memory = table["rows"]
    for number in range(3):
        table = table.changed(np.array([number]), rows=np.ones((1, 3), np.float32))
    assert table["rows"] is memory


def test_a_version_from_thousands_of_changes_ago_reads_as_it_was_and_keeps_no_copies_between():
    table = first = fresh()
    middle = None
    for number in range(3000):
        table = table.changed(np.array([number % CLIENTS]), round=np.array([number]))
        middle = table if number == 1500 else middle
    assert (first["round"] == -1).all()
    assert middle["round"].max() == 1500
    assert table["round"].tolist() == [2994, 2995, 2996, 2997, 2998, 2999]
    held, version = 0, first
    while version._later is not None:
        version = version._later
        held += version._held is not None
    assert held <= 2, "the version in the middle, and the newest"


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.integers(0, 7), unique=True, max_size=8), min_size=1, max_size=6))
def test_an_older_memory_of_updates_reads_as_it_was_when_later_ones_came(rounds):
    memory, held = Evidence(8, 20), []
    for number, clients in enumerate(rounds):
        rows = np.random.default_rng(number).standard_normal((len(clients), 20)).astype(np.float32)
        held.append((memory, copied(memory.arrays()), memory.cosine()))
        memory = memory.update(clients, rows, number)
    for older, arrays, cosines in held:
        assert same(older.arrays(), arrays)
        assert older.cosine().tobytes() == cosines.tobytes()
