"""What every strategy must do, whatever flocks it finds."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from flockwise.messages import Replies, Reply
from flockwise.server import Server
from flockwise.stages import FREE, UNPLACED, Method, Setting, State
from flockwise.strategies import STRATEGIES
from flockwise.strategies.finding import as_strategy
from flockwise.testing.each import one_each
from flockwise.testing.fakes import FakeEngine, round_of

CLIENTS, PARAMETERS = 12, 20


class StrategyBattery:
    """Give it `strategy`, a registered one or any keyword function that returns a Method.

    `parameters` are passed along; a registered strategy's own example, if not given.
    """

    strategy: ClassVar[Callable[..., Method]]
    parameters: ClassVar[Mapping[str, Any] | None] = None
    rounds: ClassVar[int] = 8

    @classmethod
    def each(cls) -> "list[type[StrategyBattery]]":
        """A battery for every registered strategy."""
        tried = {name: piece for name, piece in STRATEGIES.items() if piece.example is not None}
        return one_each(cls, {name: {"strategy": piece} for name, piece in tried.items()})

    def method(self) -> Method:
        """The method, for data of as many features as there are parameters, of two classes."""
        strategy = as_strategy(type(self).strategy)
        options = (strategy.example or {}) if self.parameters is None else self.parameters
        made: Method = strategy(**options)
        return made.for_data(PARAMETERS, 2)

    def server(self, state: State | None = None, fraction: float = 1.0) -> Server:
        """A server of twelve clients with twenty parameters."""
        method = self.method()
        rng = np.random.Generator(np.random.Philox(3))
        initial = rng.normal(size=(method.models, PARAMETERS)).astype(np.float32)
        setting = Setting(seed=5, fraction=fraction, layers=((0, 12), (12, 20)))
        return Server(method, initial, CLIENTS, setting=setting, state=state)

    def engine(self, **settings: Any) -> FakeEngine:
        """Two kinds of clients."""
        rng = np.random.Generator(np.random.Philox(4))
        goals = np.repeat(3 * rng.normal(size=(2, PARAMETERS)), CLIENTS // 2, axis=0)
        return FakeEngine(goals, **{"noise": 0.01, "groups": [0] * 6 + [1] * 6, **settings})

    def play(self, server: Server, engine: FakeEngine, rounds: int) -> None:
        """Drive the server to the end of some rounds."""
        while server.round < rounds:
            round_of(server, engine)

    def test_every_client_is_in_at_most_one_flock_and_every_flock_has_a_model(self) -> None:
        """After every round."""
        server, engine = self.server(), self.engine()
        for number in range(1, self.rounds + 1):
            self.play(server, engine, number)
            labels = server.state.labels
            assert labels.shape == (CLIENTS,)
            assert labels.min() >= UNPLACED
            assert labels.max() < len(server.state.models) or len(server.assignment()[0]) == 1
            models, rows = server.assignment()
            assert rows.min() >= 0
            assert rows.max() < len(models)
            assert np.isfinite(models).all()

    def test_a_saved_state_goes_on_to_the_same_bits(self) -> None:
        """At every round."""
        whole, engine = self.server(fraction=0.5), self.engine()
        self.play(whole, engine, self.rounds)
        broken = self.server(fraction=0.5)
        for number in range(1, self.rounds + 1):
            self.play(broken, engine, number)
            saved = {name: np.array(array) for name, array in broken.state.to_arrays().items()}
            broken = self.server(State.from_arrays(saved), fraction=0.5)
        ours, theirs = broken.state.to_arrays(), whole.state.to_arrays()
        assert ours.keys() == theirs.keys()
        assert [name for name in ours if ours[name].tobytes() != theirs[name].tobytes()] == []

    def test_a_state_stays_as_it_is_when_later_rounds_are_told(self) -> None:
        """Whoever holds on to it, or takes a round from it again, finds what was there."""
        server, engine = self.server(fraction=0.5), self.engine()
        states, copies = [], []
        for number in range(1, self.rounds + 1):
            self.play(server, engine, number)
            states.append(server.state)
            copies.append({name: array.tobytes() for name, array in server.state.to_arrays().items()})
        for state, copy in zip(states, copies, strict=True):
            assert {name: array.tobytes() for name, array in state.to_arrays().items()} == copy

    def test_a_plan_follows_from_the_state_alone(self) -> None:
        """Asking twice gives the same plan, and so does another server with the same state."""
        server, engine = self.server(fraction=0.5), self.engine()
        for number in range(1, self.rounds + 1):
            plan = server.ask()
            assert server.ask() is plan
            twin = self.server(server.state, fraction=0.5).ask()
            assert (twin.kind, twin.tasks, twin.models.tobytes()) == (
                plan.kind,
                plan.tasks,
                plan.models.tobytes(),
            )
            self.play(server, engine, number)

    def test_one_hostile_reply_never_stops_a_round(self) -> None:
        """It is rejected with a reason, and the rest counts."""
        server, engine = self.server(), self.engine()

        spoiled = 0

        def spoil(replies: list[Reply]) -> list[object]:
            nonlocal spoiled
            again = replies[1:2]  # a plan may be for one client alone
            spoiled += 2 + len(again)
            first = replies[0]
            nan = Reply(first.client, first.round, np.full(PARAMETERS, np.nan, np.float32), 10)
            return [nan, *replies[1:], "garbage", *again]

        for _ in range(self.rounds):
            before, record = spoiled, round_of(server, engine, spoil)
            assert sum(event.kind == "rejected" for event in record.events) == spoiled - before >= 3
        assert np.isfinite(server.state.models).all()

    def test_replies_one_by_one_and_as_columns_give_the_same_bits(self) -> None:
        """Whatever engine or loop drives the server."""
        columns, single, engine = self.server(), self.server(), self.engine()
        for _ in range(self.rounds):
            assert isinstance(engine.train(columns.ask()), Replies)
            round_of(columns, engine)
            round_of(single, engine, lambda replies: replies[::-1])
        assert columns.state.models.tobytes() == single.state.models.tobytes()
        np.testing.assert_array_equal(columns.state.labels, single.state.labels)

    def test_a_round_that_nobody_answers_changes_no_model(self) -> None:
        """Bit for bit."""
        server, engine = self.server(), self.engine()
        self.play(server, engine, 3)
        before = server.state.models.copy()
        self.play(server, self.engine(absent=range(CLIENTS)), 4)
        np.testing.assert_array_equal(server.state.models, before)
        assert server.round == 4
        self.play(server, engine, 6)
        assert (server.state.apart >= FREE).all()
