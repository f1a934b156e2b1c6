"""What two runs of the same thing must have in common."""

from flockwise import Run


def assert_same_bits(one: Run, other: Run) -> None:
    assert one.rounds.tolist() == other.rounds.tolist()
    last = int(one.rounds[-1])
    here, there = one.checkpoint(last), other.checkpoint(last)
    assert set(here) == set(there)
    for name, array in here.items():
        assert array.tobytes() == there[name].tobytes(), name
    assert set(one.facts) == set(other.facts)
    for name, values in one.facts.items():
        assert values.tobytes() == other.facts[name].tobytes(), name
