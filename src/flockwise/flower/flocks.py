"""A Flockwise strategy inside a user's own Flower ServerApp."""

from collections.abc import Mapping, Sequence
from logging import INFO, WARNING
from pathlib import Path
from typing import Any

from flwr.app import ArrayRecord, ConfigRecord
from flwr.serverapp import Grid
from flwr.supercore import log

from flockwise.errors import InputError
from flockwise.flower.logbook import Logbook
from flockwise.flower.mail import Mail
from flockwise.flower.records import Layout
from flockwise.flower.result import FlocksResult, collect
from flockwise.flower.roster import Identity, Roster
from flockwise.flower.rounds import EvaluateFunction, Rounds
from flockwise.flower.setup import Choices, make_server
from flockwise.flower.terms import Terms
from flockwise.flower.user_apps import UserApps
from flockwise.pieces.state import State
from flockwise.server import Server


class Flocks:
    """Any strategy of `flockwise list strategies` over any ClientApp that answers train and evaluate messages.

        flocks = Flocks("flic", clients=10, warmup=5, run="runs/mine")
        result = flocks.start(grid, ArrayRecord(model.state_dict()), num_rounds=30)

    `clients` is how many the federation has at most; the first round begins once `start_with` of them (all,
    by default) are online. `run` is the directory that keeps everything: a ServerApp that is started again
    with the same directory goes on after the last closed round. Other keywords are options of the strategy.
    """

    def __init__(
        self, strategy: str = "flic", *, clients: int, run: str | Path, fraction: float = 1.0,
        aggregation: str | Mapping[str, Any] = "mean", seed: int = 0, start_with: int | None = None,
        start_timeout: float = 600.0, retries: int = 3, max_norm: float | None = None,
        weight_cap: float | None = 5.0, evaluate_every: int = 1, identity: Identity = "auto",
        terms: Terms | None = None, **options: Any,
    ) -> None:  # fmt: skip
        if not isinstance(clients, int) or isinstance(clients, bool):
            raise InputError(f"clients = {clients!r}: must be a whole number")
        self._choices = Choices(
            strategy, clients, options, fraction, aggregation, seed, max_norm, weight_cap, evaluate_every
        )
        self._choices.config(1)  # a mistake is told here, before anything waits for nodes
        self._path = Path(run).absolute()
        self._start_with = clients if start_with is None else start_with
        if not 1 <= self._start_with <= clients:
            raise InputError(f"start_with = {start_with}: must lie between 1 and clients = {clients}")
        for name, value, kind in (("start_timeout", start_timeout, (int, float)), ("retries", retries, int),
                                  ("evaluate_every", evaluate_every, int)):  # fmt: skip
            if not isinstance(value, kind) or isinstance(value, bool) or not value >= 0:
                raise InputError(f"{name} = {value!r}: must be a number of at least 0")
        if terms is not None and not isinstance(terms, Terms):
            raise InputError(f"terms = {terms!r}: must be Terms(...)")
        self._start_timeout, self._retries = start_timeout, retries
        self._roster = Roster(clients, identity)
        self._terms = terms or Terms()

    def start(
        self, grid: Grid, initial_arrays: ArrayRecord | Sequence[ArrayRecord], num_rounds: int = 3,
        timeout: float = 3600.0, train_config: ConfigRecord | None = None,
        evaluate_config: ConfigRecord | None = None, evaluate_fn: EvaluateFunction | None = None,
    ) -> FlocksResult:  # fmt: skip
        """Run to `num_rounds`, or go on to it; the same arguments as Flower's own `Strategy.start`.

        `timeout` is how long a round waits for answers. Methods that start from several models take a list
        of records, or make the others from the one they are given. `evaluate_fn` is shown the model of the
        largest flock. A round that nobody answers is tried `retries` times more; then the run stops, with
        everything saved.
        """
        given = [initial_arrays] if isinstance(initial_arrays, ArrayRecord) else list(initial_arrays)
        layout = Layout.of(given[0])
        config = self._choices.config(num_rounds)
        with Logbook.open(self._path, config) as book:
            if book.identities:
                self._roster.restore(book.identities)
            present: set[int] = set()
            vectors = [layout.vector(record) for record in given]

            def renew(state: State | None) -> Server:
                return make_server(config, layout, vectors, present, state)

            server = renew(book.state)
            if server.round >= num_rounds:
                book.writer.about(state="finished")  # it may have died before it could say so
                log(WARNING, "flockwise: %s: this run is finished (round %d of %d), so nothing is trained; raise num_rounds "
                    "to go on, or choose another run directory", self._path, server.round, num_rounds)  # fmt: skip
                return collect(server, layout, self._roster, book, "finished")
            apps = UserApps(Mail(grid), self._roster, layout, self._terms, timeout,
                            dict(train_config or {}), dict(evaluate_config or {}))  # fmt: skip
            wanted = 1 if server.round else self._start_with  # who left in between costs its own report only
            log(INFO, "flockwise: %s, round %d of %d; waiting for %d clients; run: %s", config.strategy.name,
                server.round + 1, num_rounds, wanted, self._path)  # fmt: skip
            apps.events += self._roster.wait(grid, wanted, self._start_timeout)
            rounds = Rounds(grid, server, renew, apps, self._roster, book, present, self._retries)
            why = rounds.run(num_rounds, self._choices.evaluate_every, evaluate_fn)
            return collect(rounds.server, layout, self._roster, book, why)
