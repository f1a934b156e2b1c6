"""What every strategy must do, whatever flocks it finds."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from flockwise.aggregation import mean
from flockwise.messages import Reply
from flockwise.pieces.rules import BoundRule
from flockwise.pieces.state import FREE, UNPLACED, State
from flockwise.server import Server
from flockwise.server.method import Method
from flockwise.strategies import Setting
from flockwise.testing.fakes import FakeEngine

CLIENTS, PARAMETERS = 12, 20


class StrategyBattery:
    """Give it `build`, a function of a Setting that returns a Method."""

    build: ClassVar[Callable[..., Method]]
    rounds: ClassVar[int] = 8

    def server(self, state: State | None = None, fraction: float = 1.0) -> Server:
        """A server of twelve clients with twenty parameters."""
        rule = BoundRule("mean", mean, weighted=True)
        method = type(self).build(Setting(CLIENTS, rule, fraction, seed=5, layers=((0, 12), (12, 20))))
        rng = np.random.Generator(np.random.Philox(3))
        initial = rng.normal(size=(method.models, PARAMETERS)).astype(np.float32)
        return Server(method, initial, CLIENTS, state=state)

    def engine(self, **settings: Any) -> FakeEngine:
        """Two kinds of clients."""
        rng = np.random.Generator(np.random.Philox(4))
        return FakeEngine(np.repeat(3 * rng.normal(size=(2, PARAMETERS)), CLIENTS // 2, axis=0), **settings)

    def play(self, server: Server, engine: FakeEngine, rounds: int) -> None:
        """Drive the server to the end of some rounds."""
        while server.round < rounds:
            plan = server.ask()
            server.tell(engine.train(plan) if plan.kind == "train" else engine.validate(plan))

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
        assert whole.state.models.tobytes() == broken.state.models.tobytes()
        np.testing.assert_array_equal(whole.state.labels, broken.state.labels)

    def test_one_hostile_reply_never_stops_a_round(self) -> None:
        """It is rejected with a reason, and the rest counts."""
        server, engine = self.server(), self.engine()
        for number in range(1, self.rounds + 1):
            while server.round < number:
                plan = server.ask()
                if plan.kind == "validate":
                    server.tell(engine.validate(plan))
                    continue
                replies: list[Any] = engine.train(plan)
                replies[0] = Reply(replies[0].client, plan.round, np.full(PARAMETERS, np.nan, np.float32), 10)
                replies += ["garbage", replies[1]]
                record = server.tell(replies)
                if record:
                    assert sum(event.kind == "rejected" for event in record.events) == 3
        assert np.isfinite(server.state.models).all()

    def test_a_round_that_nobody_answers_changes_no_model(self) -> None:
        """Bit for bit."""
        server, engine = self.server(), self.engine()
        self.play(server, engine, 3)
        before = server.state.models.copy()
        assert server.ask().kind == "train"
        server.tell([])
        np.testing.assert_array_equal(server.state.models, before)
        assert server.round == 4
        self.play(server, engine, 6)
        assert (server.state.apart >= FREE).all()
