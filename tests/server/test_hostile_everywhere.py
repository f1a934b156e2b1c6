"""Every hostile reply, whatever the strategy and the rule: turned away with a reason, and bit for bit as if never sent.

Every change is tried with a sixtieth of the grid of strategies, rules, hostile replies and the round in which they come;
`make reliability TIMES=20` tries all of it. No case may take longer than two seconds of the processor.
"""

import inspect
import time
from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

from flockwise.aggregation import RULES
from flockwise.errors import ConfigError
from flockwise.messages import Reply
from flockwise.rng import generator
from flockwise.server import Gate, Server
from flockwise.stages import State
from flockwise.strategies import STRATEGIES
from flockwise.testing.fakes import FakeEngine, goals_of, round_of
from tests.conftest import Cases
from tests.server.methods import make_server
from tests.server.test_gate import HOSTILE, spiked, with_update

GROUPS, DIMENSION, ROUNDS, LIAR = [0, 1] * 5, 24, 4, 2
ENGINE = FakeEngine(goals_of(GROUPS, DIMENSION), groups=GROUPS)
# Each value in one coordinate, and in all of them.
VALUES = {"NaN": np.nan, "Inf": np.inf, "-Inf": -np.inf, "1e30": 1e30, "-3e38": -3e38}
_OF_NUMBERS = ("nan", "infinite", "overflowing", "too long")
NUMBERS: dict[str, Callable[[Any], Any]] = {
    **{kind: HOSTILE[kind][0] for kind in _OF_NUMBERS},
    **{f"{name} in one": with_update(spiked(value)) for name, value in VALUES.items()},
    **{
        f"{name} in all": with_update(lambda update, value=value: np.full_like(update, value))
        for name, value in VALUES.items()
    },
}
# Whoever drives a server binds numbers to senders: see test_who_sent_it.py for the one that is nobody's.
FORMS: dict[str, Callable[[Any], Any]] = {
    kind: spoil for kind, (spoil, _) in HOSTILE.items() if kind not in (*_OF_NUMBERS, "the server's own data")
}
# Odd, but numbers as any other: they are taken, and what comes out is finite.
ODD = {
    "subnormal": with_update(lambda update: np.full_like(update, 1e-42)),
    "-0.0": with_update(lambda update: np.full_like(update, -0.0)),
    "smallest": with_update(spiked(np.finfo(np.float32).tiny)),
}


def options_of(piece: Any) -> dict[str, Any]:
    """A piece's own example, without what the run provides."""
    return {name: value for name, value in (piece.example or {}).items() if name not in piece.given}


def server_of(strategy: str, rule: str, state: State | None = None) -> Server:
    """This strategy with this rule, where it was or from the start; ConfigError if they do not go together."""
    piece, options = STRATEGIES[strategy], dict(STRATEGIES[strategy].example or {})
    if rule:
        options["rule"] = RULES[rule](attackers=1, **options_of(RULES[rule]))
    gate = Gate(DIMENSION, max_norm=100.0)
    return make_server(piece(**options), len(GROUPS), DIMENSION, gate=gate, state=state)


def pairs() -> list[tuple[str, str]]:
    """Every strategy with every rule that it takes."""
    found = []
    for strategy, rule in product(STRATEGIES, RULES):
        if "rule" not in inspect.signature(STRATEGIES[strategy].function).parameters:
            found += [(strategy, "")] if rule == "mean" else []
            continue
        try:
            server_of(strategy, rule)
        except ConfigError:
            continue
        found.append((strategy, rule))
    return found


PAIRS = pairs()
LONGEST = 2.0  # seconds of the processor for a case


@cache
def before(pair: tuple[str, str], at: int) -> State | None:
    """What is when this round begins; nothing else outlives a round, so that it need not be played for every case."""
    server = server_of(*pair)
    for _ in range(1, at):
        round_of(server, ENGINE)
    return server.state if at > 1 else None


def closed(pair: tuple[str, str], spoil: Callable[[Reply], Any] | None, at: int) -> tuple[bytes, int, int]:
    """A round in which a client's replies are spoilt, or lost, and one behind it: what all is then; how many replies there
    were, and how many were turned away.
    """
    sent = turned_away = 0

    def change(replies: list[Reply]) -> list[Any]:
        nonlocal sent
        sent += sum(reply.client == LIAR for reply in replies)
        spoilt = [reply if reply.client != LIAR else spoil and spoil(reply) for reply in replies]
        return [new for old, new in zip(replies, spoilt, strict=True) if spoil or old.client != LIAR]

    server = server_of(*pair, before(pair, at))
    for disturbed in (True, False):
        record = round_of(server, ENGINE, change if disturbed else list)
        turned_away += sum(event.kind == "rejected" for event in record.events)
        assert np.isfinite(server.state.models).all()
    assert server.round == at + 1
    return b"".join(array.tobytes() for array in server.state.to_arrays().values()), sent, turned_away


def as_if_it_were_not_there(
    strategy: str, cases: Cases, bad: dict[str, Callable[[Any], Any]], seed: int
) -> None:
    """Each of these replies, with every rule that the strategy takes, in an early round and in a later one."""
    grid = list(product([pair for pair in PAIRS if pair[0] == strategy], bad, (1, 3)))
    drawn = generator(seed, f"hostile {strategy}").permutation(len(grid))[: len(grid) // 60 + 1].tolist()
    clean: dict[tuple[tuple[str, str], int], bytes] = {}
    for number in range(len(grid)) if cases.full else drawn:
        pair, kind, at = grid[number]
        cases.count(1)
        if (pair, at) not in clean:
            clean[pair, at] = closed(pair, None, at)[0]
        began = time.process_time()
        found, sent, rejected = closed(pair, bad[kind], at)
        assert found == clean[pair, at] and rejected == sent > 0, (pair, kind, at)
        assert time.process_time() - began < LONGEST, (pair, kind, at)


@pytest.mark.parametrize("strategy", list(STRATEGIES))
def test_a_reply_of_hostile_numbers_is_as_if_it_were_not_there(strategy: str, cases: Cases) -> None:
    as_if_it_were_not_there(strategy, cases, NUMBERS, 0)


@pytest.mark.parametrize("strategy", list(STRATEGIES))
def test_a_reply_of_a_wrong_form_is_as_if_it_were_not_there(strategy: str, cases: Cases) -> None:
    as_if_it_were_not_there(strategy, cases, FORMS, 1)


@pytest.mark.parametrize("strategy", list(STRATEGIES))
def test_numbers_that_are_odd_leave_every_model_finite(strategy: str, cases: Cases) -> None:
    grid = list(product([pair for pair in PAIRS if pair[0] == strategy], ODD, (1, 3)))
    drawn = generator(0, f"odd {strategy}").permutation(len(grid))[: len(grid) // 60 + 1].tolist()
    for number in range(len(grid)) if cases.full else drawn:
        pair, kind, at = grid[number]
        cases.count(1)
        began = time.process_time()
        assert closed(pair, ODD[kind], at)[2] == 0, (pair, kind, at)
        assert time.process_time() - began < LONGEST, (pair, kind, at)


@pytest.mark.parametrize("rule", list(RULES))
def test_an_update_too_short_for_its_length_to_be_divided_by_is_taken(rule: str) -> None:
    """Warnings are errors here: a weight that float32 cannot hold was one."""
    assert closed(("fedavg", rule), ODD["subnormal"], 1)[2] == 0
