"""Replies sent again, late, early or in another's name: bit for bit the round without them."""

from dataclasses import replace

import numpy as np

from flockwise.messages import Reply, bound
from flockwise.rng import generator
from flockwise.server import Server
from flockwise.testing.fakes import FakeEngine, goals_of
from tests.conftest import Cases
from tests.server.methods import make_server

CLIENTS, DIMENSION, ROUNDS = 6, 24, 6
Sent = list[tuple[int, Reply]]


def _disturbed(honest: Sent, earlier: list[Sent], random: np.random.Generator) -> tuple[Sent, int]:
    """The honest answers with forged ones among them, each of which comes after the one it copies; how many."""
    sent = list(honest)
    forged: Sent = []
    for client, reply in honest:
        forged += [(client, replace(reply, update=-50 * reply.update))] * int(random.integers(0, 5))  # again
    for answers in earlier[-5:]:  # late, from another round
        forged += [answers[int(random.integers(len(answers)))]]
    client, reply = honest[int(random.integers(len(honest)))]
    forged += [(client, replace(reply, round=reply.round + int(random.integers(1, 5))))]  # early
    other = (client + 1 + int(random.integers(CLIENTS - 1))) % CLIENTS
    forged += [
        (client, replace(reply, client=other)),
        (-1, replace(reply, client=-1)),
        (99, replace(reply, client=99)),
    ]
    for each in forged:
        sent.insert(int(random.integers(len(honest), len(sent) + 1)), each)
    return sent, len(forged)


def test_what_is_sent_again_late_early_or_in_anothers_name_changes_nothing(cases: Cases) -> None:
    engine = FakeEngine(goals_of([0, 1] * (CLIENTS // 2), DIMENSION))
    random = generator(0, "replays")
    for number in range(cases.many(12) // 12 * 2):
        strategy = ("fedavg", "flic")[number % 2]
        server, clean = (make_server(strategy, CLIENTS, DIMENSION) for _ in range(2))
        earlier: list[Sent] = []
        for _ in range(ROUNDS):
            _close(clean, engine, earlier=[])
            sent, forged, rejected = _close(server, engine, earlier, random)
            assert rejected == forged
            earlier.append(sent)
        assert all(
            mine.tobytes() == theirs.tobytes()
            for mine, theirs in zip(
                server.state.to_arrays().values(), clean.state.to_arrays().values(), strict=True
            )
        )


def _close(
    server: Server, engine: FakeEngine, earlier: list[Sent], random: np.random.Generator | None = None
) -> tuple[Sent, int, int]:
    """One round: what honest clients sent, how much was forged, and how much was turned away."""
    honest: Sent = [(reply.client, reply) for reply in engine.replies(server.ask())]
    sent, forged = (honest, 0) if random is None else _disturbed(honest, earlier, random)
    record = server.tell(sent)
    while record is None:  # it wants scores before the round is over
        record = server.tell(bound(engine.validate(server.ask())))
    return honest, forged, sum(event.kind == "rejected" for event in record.events)
