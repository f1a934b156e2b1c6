"""What clients are compared on: this round's updates, the newest update, or the newest model of each."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Protocol

import numpy as np

from flockwise.similarity import ClientTable, Evidence, Measure, cosine
from flockwise.similarity.sketches import Sketches
from flockwise.stages.sketching import Sketcher, sketched, sketcher_of
from flockwise.stages.stage import REPLIES, Holds, Layers, Round, Setting, Stage, stage
from flockwise.stages.state import Slot, State
from flockwise.types import Clients, Square, Updates


@dataclass(frozen=True)
class Known:
    """What is known of some clients, ready to be compared."""

    clients: Clients
    fetch: Callable[[], Updates]  # the rows, only when asked for: they can be most of a gigabyte
    layers: Layers = ()
    center: np.ndarray | None = None  # a point near all rows, where rows are models
    cached_cosine: Callable[[], Square] | None = None
    sketched: bool = False  # rows are sketches of updates, and the caller's own to change
    lost: float = 0.0  # by sketches: the variance of a cosine of 0
    pick: Callable[[np.ndarray], Updates] | None = (
        None  # the rows of some, where all need not be fetched for them
    )

    @property
    def rows(self) -> Updates:
        """(clients, parameters)"""
        return self.fetch()

    def cosine(self) -> Square:
        """Cosine similarities of the rows, from the running memory where there is one."""
        return self.cached_cosine() if self.cached_cosine else cosine(self.rows)

    def compare(self, measure: Measure) -> Square:
        """The clients' similarities or distances."""
        if measure.from_cosines is not None:
            return measure.from_cosines(self.cosine())
        rows = self.rows
        return measure.compare(rows, layers=self.layers or ((0, rows.shape[1]),), center=self.center)

    def centred(self) -> "Known":
        """Rows from their mean: what all have in common does not tell them apart."""
        rows = cache(lambda: self.rows)
        mean = cache(lambda: rows().mean(axis=0, dtype=np.float64).astype(np.float32))
        pick = self.pick or (lambda some: rows()[some])
        return replace(
            self, fetch=lambda: rows() - mean(), cached_cosine=None, pick=lambda some: pick(some) - mean()
        )

    def of(self, members: np.ndarray) -> "Known":
        """Only some of the clients."""
        pick = self.pick or (lambda some: self.rows[some])
        return replace(
            self, clients=self.clients[members], fetch=lambda: pick(members), cached_cosine=None,
            pick=lambda some: pick(members[some]),
        )  # fmt: skip


def learned(updates: Updates, setting: Setting) -> Updates:
    """What of updates is evidence: what training moved. Running statistics of batch normalisation are long and alike for
    all clients, and would hide how they differ."""
    if not setting.learned:
        return updates
    return np.concatenate([updates[:, start:stop] for start, stop in setting.learned], axis=1)


def learned_layers(setting: Setting) -> Layers:
    """The layers inside what is learned, as they lie there."""
    if not setting.learned:
        return setting.layers
    found, before = [], 0
    for start, stop in setting.learned:
        inside = [(first, last) for first, last in setting.layers if start <= first and last <= stop]
        found += [(first - start + before, last - start + before) for first, last in inside]
        before += stop - start
    return tuple(found)


class EvidenceSource(Protocol):
    """Evidence that stages can ask for; `needs` is what must come before them in a chain."""

    @property
    def needs(self) -> frozenset[object]:
        """What must be there."""

    def known(self, round: Round) -> Known:
        """What is known of the clients in this round."""


class OfUpdates:
    """Base of evidence that is made of clients' updates and, where there are many, of sketches of them."""


@dataclass(frozen=True)
class ThisRound(OfUpdates):
    """Only the updates of the clients that took part in this round."""

    needs: frozenset[object] = frozenset({REPLIES})

    def known(self, round: Round) -> Known:
        """The clients of this round."""
        batch = round.replies
        sketcher = sketcher_of(round.setting, round.state.clients, round.state.models.shape[1])
        if sketcher:
            rows = lambda: np.array(sketched(batch, sketcher))  # noqa: E731
            return Known(batch.clients, rows, sketched=True, lost=sketcher.kind.lost)
        return Known(
            batch.clients, lambda: learned(batch.updates, round.setting), learned_layers(round.setting)
        )


_UPDATES = Slot(
    "evidence", Evidence, {"round": -1, "rows": 0.0, "products": 0.0}, squares=frozenset({"products"})
)


_SKETCHES = Slot("sketches", Sketches, {"round": -1, "rows": 0.0})


@dataclass(frozen=True)
class LatestUpdates(OfUpdates):
    """The newest update, or its sketch, of every client heard so far; older ones than `max_age` rounds are ignored."""

    max_age: int | None = None
    needs: frozenset[object] = frozenset({REPLIES, _UPDATES})

    @property
    def remember(self) -> Stage:
        """The stage that replaces the rows of this round's clients."""
        return self.remember_until(lambda state: False)

    def remember_until(self, over: Callable[[State], bool]) -> Stage:
        """The same, but nothing is kept once nobody will ask: it is most of a checkpoint, and what clients sent."""

        def run(round: Round) -> Round:
            batch, state = round.replies, round.state
            if over(state):
                return round.to(_SKETCHES.drop(_UPDATES.drop(state)))
            sketcher = sketcher_of(round.setting, state.clients, state.models.shape[1])
            if sketcher:
                held = _sketches(state, sketcher).with_age(self.max_age)
                held = held.update(batch.clients, sketched(batch, sketcher), batch.round)
                return round.to(_SKETCHES.put(_UPDATES.drop(state), held))
            updates = learned(batch.updates, round.setting)
            memory = _UPDATES.get(state) or Evidence(state.clients, updates.shape[1])
            if memory.dimension != updates.shape[1]:  # of a release that compared statistics too
                memory = _relearned(memory, round.setting)
            # What the run says now: a fork may have changed the age.
            memory = memory.with_age(self.max_age).update(batch.clients, updates, batch.round)
            return round.to(_UPDATES.put(_SKETCHES.drop(state), memory))

        held = Holds(rows=1, squares=1, sketched=1)
        return stage(
            "remember updates",
            run,
            [REPLIES],
            [_UPDATES],
            holds=held,
            compares=True,
            whole="",
            relabels=False,
        )

    def known(self, round: Round) -> Known:
        """Every free client with an update that is not too old."""
        sketches = _SKETCHES.get(round.state)
        if sketches is not None:
            heard = np.flatnonzero(sketches.usable(round.number) & round.state.free)
            pick = partial(_picked, sketches, heard)
            lost = sketches.kind.lost
            return Known(heard, lambda: sketches.rows[heard], sketched=True, lost=lost, pick=pick)
        memory = _UPDATES.get(round.state)
        assert memory is not None
        usable = np.flatnonzero(memory.usable(round.number) & round.state.free)
        return Known(
            usable,
            lambda: memory.rows[usable],
            learned_layers(round.setting),
            cached_cosine=lambda: memory.cosine(round.number)[np.ix_(usable, usable)],
        )


def _picked(sketches: Sketches, heard: Clients, some: np.ndarray) -> Updates:
    found: Updates = sketches.rows[heard[some]]
    return found


def _sketches(state: State, sketcher: Sketcher) -> Sketches:
    """The memory of sketches, made from whole updates if those were kept before; of another kind it is forgotten."""
    held = _SKETCHES.get(state)
    if held is not None and held.kind == sketcher.kind:
        return held
    fresh, whole = Sketches.empty(state.clients, sketcher.kind), _UPDATES.get(state)
    if whole is None or whole.dimension != sketcher.kind.size:
        return fresh
    for round in np.unique(whole.round[whole.heard]).tolist():
        clients = np.flatnonzero(whole.round == round)
        fresh = fresh.update(clients, sketcher.fold(whole.rows[clients]), round)
    return fresh


def _relearned(memory: Evidence, setting: Setting) -> Evidence:
    """The same memory of what is learned alone."""
    rows = learned(memory.rows, setting)
    after = Evidence(memory.clients, rows.shape[1], memory.max_age)
    for round in np.unique(memory.round[memory.heard]).tolist():
        clients = np.flatnonzero(memory.round == round)
        after = after.update(clients, rows[clients], round)
    return after


class _Models:
    """The newest model of every client, and the round it comes from (0: never heard)."""

    def __init__(self, table: ClientTable) -> None:
        self._table = table

    @property
    def models(self) -> Updates:
        return self._table["models"]

    @property
    def round(self) -> np.ndarray:
        return self._table["round"]

    def changed(self, clients: Clients, models: Updates, round: int) -> "_Models":
        return _Models(self._table.changed(clients, models=models, round=np.full(len(clients), round)))

    def arrays(self) -> dict[str, np.ndarray]:
        return self._table.arrays()

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> "_Models":
        return cls(
            ClientTable({name: np.require(array, requirements=["C", "W"]) for name, array in arrays.items()})
        )


_LATEST = Slot("latest", _Models, {"models": 0.0, "round": 0})


@dataclass(frozen=True)
class LatestModels:
    """The newest local model of every client heard so far."""

    needs: frozenset[object] = frozenset({REPLIES, _LATEST})

    @property
    def remember(self) -> Stage:
        """The stage that replaces the rows of this round's clients."""

        def run(round: Round) -> Round:
            batch, state = round.replies, round.state
            memory = _LATEST.get(state) or _Models.from_arrays(
                {"models": np.zeros((state.clients, state.models.shape[1]), np.float32),
                 "round": np.zeros(state.clients, np.int64)}
            )  # fmt: skip
            return round.to(
                _LATEST.put(state, memory.changed(batch.clients, batch.sent + batch.updates, batch.round))
            )

        return stage(
            "remember models", run, [REPLIES], [_LATEST], holds=Holds(rows=2), relabels=False
        )  # and a copy while they are averaged

    def known(self, round: Round) -> Known:
        """Every free client heard so far."""
        models, heard = self.of(round.state)
        usable = np.flatnonzero(heard & round.state.free)
        center = models[usable].mean(axis=0, dtype=np.float64).astype(np.float32)
        return Known(usable, lambda: models[usable], round.setting.layers, center)

    def of(self, state: State) -> tuple[Updates, np.ndarray]:
        """The newest models, and whose have been heard; nobody's before the first round."""
        memory = _LATEST.get(state)
        if memory is None:
            return np.zeros((state.clients, 0), np.float32), np.zeros(state.clients, dtype=bool)
        return memory.models, memory.round > 0


this_round = ThisRound()
latest_models = LatestModels()
