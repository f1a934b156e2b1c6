"""What engines share that can do any client's work: models by row, what clients keep, who must be tested again."""

from abc import abstractmethod
from collections.abc import Mapping

import numpy as np

from flockwise.engine.arena import Arena
from flockwise.engine.base import Engine, Evaluation
from flockwise.engine.client_work import ClientWork, one_thread
from flockwise.errors import EngineError, InputError
from flockwise.types import Clients, Models, Rows, Vector


class Simulation(Engine):
    """Every client's work is here, done by whom a subclass says; the result does not depend on who does it."""

    def __init__(self, work: ClientWork, most_models: int = 0) -> None:
        self._work = work
        clients = work.federation.clients
        one_thread()
        self._rows = max(clients + 64, most_models)
        self._models = Arena(self._rows, work.travel.size, likely=4)
        self._versions = np.zeros(
            self._rows, dtype=np.int64
        )  # a new number for each model that came into a row
        self.own = Arena(clients, len(work.kept.first_row))  # what stays with each client
        self.own.rows[:] = work.kept.first_row
        self._origins = work.origins()
        self._test_sizes = work.tested()
        # Of each client's last test: what the task measures, then the share fooled.
        self.results = Arena(clients, work.columns + 1, np.float64)
        self._tested_with = np.full(clients, -1)  # twice the version of its model, plus 1 on later data

    @abstractmethod
    def test(self, round: int, clients: Clients, rows: Rows) -> None:
        """Put the results of these clients, each with the model in its row, where results are."""

    def evaluate(self, round: int, models: Models, rows: Rows, clients: Clients | None = None) -> Evaluation:
        """Only clients whose model (or data) changed are tested again; all, if each has something of its own."""
        self.share(models)
        drifted = self._work.later is not None and round >= self._work.drift_round
        chosen = np.arange(len(rows)) if clients is None else clients
        wanted = 2 * self._versions[rows[chosen]] + drifted
        stale = chosen[(self._tested_with[chosen] != wanted) | (not self._work.kept.nothing)]
        if len(stale):
            self.test(round, stale, rows)
        self._tested_with[chosen] = wanted
        results = np.full(self.results.rows.T.shape, np.nan)
        results[:, chosen] = self.results.rows[chosen].T
        score, loss, *others, fooled = results
        named = dict(zip(self._work.task.others, others, strict=True))
        return Evaluation(score, loss, fooled if self._work.goal else None, named, clients)

    def kept(self) -> Mapping[str, np.ndarray]:
        """What clients keep to themselves."""
        still = self._work.travel.still
        own = {} if self._work.kept.nothing else {"own": self.own.rows.copy()}
        return own if still is None else {**own, "still": still}

    def restore(self, kept: Mapping[str, np.ndarray]) -> None:
        """Clients go on with what they had kept."""
        still = self._work.travel.still
        if still is not None and "still" in kept and not np.array_equal(kept["still"], still):
            raise InputError(
                "model: the tensors that do not train are not those that this run began with; give the same module again"
            )
        if "own" in kept:
            self.own.rows[:] = kept["own"]

    def share(self, models: Models) -> None:
        """Put the models where workers see them; those that are there already keep their version."""
        if len(models) > len(self._models.rows):
            raise EngineError(
                f"a plan has {len(models)} models; this engine was made for {len(self._models.rows)}"
            )
        for row, model in enumerate(models):
            if not _same_bits(self._models.rows[row], model):
                self._models.rows[row] = model
                self._versions[row] = self._versions.max() + 1

    def _origins_of(self, clients: Clients) -> np.ndarray:
        """Where replies come from; of the server's own data nothing is known."""
        return np.where(clients[:, None] < 0, np.nan, self._origins[clients])


def _same_bits(one: Vector, other: Vector) -> bool:
    few = min(len(one), 4096)  # a model that has moved differs at once
    return one[:few].tobytes() == other[:few].tobytes() and bool(
        (one.view(np.int32) == other.view(np.int32)).all()
    )
