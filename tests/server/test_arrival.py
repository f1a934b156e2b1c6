"""The order in which replies arrive changes nothing: for every strategy and rule the same bits, and the same record."""

import numpy as np
import pytest

from flockwise.messages import Reply
from flockwise.rng import generator
from flockwise.server import Server
from flockwise.strategies import STRATEGIES
from flockwise.testing.fakes import round_of
from tests.conftest import Cases
from tests.server.test_hostile_everywhere import ENGINE, PAIRS, ROUNDS, server_of


def played(server: Server, random: np.random.Generator | None) -> tuple[bytes, list[str]]:
    """Some rounds whose replies come in this order, or by number; all that is then, and what was told on the way."""

    def shuffled(replies: list[Reply]) -> list[Reply]:
        return replies if random is None else [replies[place] for place in random.permutation(len(replies))]

    events = [repr(event) for _ in range(ROUNDS) for event in round_of(server, ENGINE, shuffled).events]
    return b"".join(array.tobytes() for array in server.state.to_arrays().values()), events


@pytest.mark.parametrize("strategy", list(STRATEGIES))
def test_any_order_of_arrival_gives_the_same_bits(strategy: str, cases: Cases) -> None:
    random, pairs = generator(0, f"arrival {strategy}"), [pair for pair in PAIRS if pair[0] == strategy]
    by_number = {}
    for number in range(cases.many(2)):
        pair = pairs[number % len(pairs)]
        if pair not in by_number:
            by_number[pair] = played(server_of(*pair), None)
        assert played(server_of(*pair), random) == by_number[pair], pair
