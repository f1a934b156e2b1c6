"""The work of one client: materialise its data, train, score. The same in a worker or in process."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import nn

from flockwise.attacks import DataAttack, Goal
from flockwise.data import Federation, Shard
from flockwise.data.recipes import Recipes
from flockwise.engine.kept import Kept
from flockwise.engine.latents import Latents, last_layer
from flockwise.engine.local_training import ClientTraining, Trainers
from flockwise.engine.seen_model import MadeThrough
from flockwise.errors import InputError
from flockwise.messages import is_root, origin
from flockwise.models.freezing import frozen
from flockwise.models.layout import Layout
from flockwise.models.travel import EVERYTHING, Travel
from flockwise.rng import generator
from flockwise.stages.personal import AS_USUAL, Personal
from flockwise.stages.report import Report
from flockwise.tasks import Task, classification
from flockwise.training import Recipe, choose_trainer
from flockwise.types import Models, Vector

_CACHE_BYTES = 256 << 20  # materialised clients kept by each worker
_MOST_JOINED = 64  # groups of clients whose test data lies end to end


@dataclass(frozen=True)
class WorkSource:
    """What makes the same work again elsewhere, as far as a config can say it."""

    config: Mapping[str, Any]
    directory: Path | None = None  # where a user's own pieces are looked for
    data: Path | None = None  # where data sets lie


@dataclass
class ClientWork:
    """Everything needed to do any client's work in any round.

    `later` is the federation from round `drift_round` on, for clients whose data changes. From round
    `attack_from` on, clients in `poison` train on poisoned data, and those in `idle` do not train: they send what needs no
    training. `goal` is what attackers want of samples with their trigger.
    """

    federation: Federation
    module: nn.Module
    recipe: Recipe
    seed: int = 0
    device: str = "cpu"
    prefer: str = "auto"
    root: Shard | None = None
    poison: Mapping[int, DataAttack] = field(default_factory=dict)
    later: Federation | None = None
    drift_round: int = 0
    idle: frozenset[int] = frozenset()
    attack_from: int = 1
    report: Report | None = None  # what the method asks clients to tell
    travels: Sequence[str] = (
        EVERYTHING  # patterns of the tensors that are sent; the others stay with the client
    )
    source: WorkSource | None = None
    task: Task = field(default_factory=classification)
    trains: Sequence[str] = EVERYTHING  # patterns of the tensors that train; the others stay as they are
    personal: Personal = AS_USUAL  # what clients keep to themselves, and how they train with it
    goal: Goal | None = None
    judged_on: Literal["test", "validation"] = "test"  # the clients' part that goes on the record

    def __post_init__(self) -> None:
        self._cache: OrderedDict[tuple[int, str, bool, bool], tuple[np.ndarray, np.ndarray]] = OrderedDict()
        self._cached = 0
        self._reports: dict[tuple[int, bool, bool], dict[str, np.ndarray]] = {}
        self._joined: OrderedDict[tuple[tuple[int, ...], bool], tuple[np.ndarray, np.ndarray, np.ndarray]] = (
            OrderedDict()
        )
        self.module, still = frozen(self.module, self.trains)
        if self.report is not None and self.report.of_latents:
            last_layer(self.module)  # before anything is trained, and not in the round in which clients tell
        layout = Layout.of(self.module)
        self.first = layout.read(self.module)  # the whole model as it is before training
        self.travel = Travel.of(
            layout, self.travels, self.personal.head, still, self.first, self.personal.layer
        )
        self.kept = Kept(self.travel, self.personal, self.first)
        # It does not hold this object, so that data goes with the run that had it and waits for no collector of garbage.
        choose = partial(
            choose_trainer, sample_shape=self.sample_shape, recipe=self.recipe, device=self.device, prefer=self.prefer,
            tokens=self.federation.dataset.tokens, task=self.task, classes=self.federation.dataset.classes or None,
        )  # fmt: skip
        self._trainer, self.why = choose(self.module)
        self._trainers = Trainers(self._trainer, self.module, self.travel, lambda part: choose(part)[0])
        if self.personal.plain and (not self.recipe.plain or self.recipe.step_schedule):
            raise InputError(
                "training: this method takes plain gradient steps; leave out momentum, weight_decay, proximal, clip and "
                "step_schedule, and use optimizer 'sgd'"
            )

    @property
    def sample_shape(self) -> tuple[int, ...]:
        """(channels, height, width) of images; of other samples, the shape they have."""
        shape = self.federation.dataset.x.shape[1:]
        return (shape[2], shape[0], shape[1]) if len(shape) == 3 else tuple(shape)

    @property
    def columns(self) -> int:
        """How many numbers a test has: the score, the loss, the task's other metrics."""
        return 2 + len(self.task.others)

    def whole(self, sent: Models) -> Models:
        """Whole models of those that were sent, for a client that keeps nothing to itself."""
        if self.travel.everything:
            return sent
        return np.stack([self.kept.whole(model, self.kept.first_row) for model in sent])

    def samples(self, client: int, round: int) -> int:
        """How many samples the client trains on."""
        if self._idles(client, round):
            return 0
        if is_root(client):
            assert self.root is not None
            return len(self.root.train)
        return int(self._sizes[client])

    @cached_property
    def _sizes(self) -> np.ndarray:
        return self.federation.sizes("train")

    def tested(self) -> np.ndarray:
        """How many samples each client is tested on."""
        instead = self.federation.sizes("validation")
        if self.judged_on != "test":
            return instead
        own = self.federation.sizes("test")
        return np.where(own > 0, own, instead)

    def train(self, client: int, round: int, candidates: Models) -> tuple[Vector, int, float] | None:
        """The client's trained parameters, the candidate it chose, and its loss; None if it holds too little data."""
        result = self.train_keeping(client, round, candidates, self.kept.memory(self.kept.first_row))
        return result[:3] if result else None

    def train_keeping(
        self, client: int, round: int, candidates: Models, memory: Vector
    ) -> tuple[Vector, int, float, Vector] | None:
        """The same for a client that remembers something: also what it remembers now."""
        x, y = self.data(client, "train", round)
        if len(y) < self._trainer.least:
            return None
        chosen = self._best(candidates, x, y) if len(candidates) > 1 else 0
        if self._idles(client, round):
            return candidates[chosen], chosen, float("nan"), memory
        if self._made_through(client, round):
            poison, rng = self._seen.of(candidates[chosen])[0], generator(self.seed, "poison", client)
            x, y = poison(x, y, self.federation.dataset.classes, rng)
        rng = generator(self.seed, "batches", round, client)
        local = ClientTraining(self._trainers, self.recipe.at(round), round, x, y, rng)
        trained, memory, loss = self.personal.train(local, candidates[chosen], memory)
        return trained, chosen, loss, memory

    def told(self, client: int, round: int, model: Vector) -> dict[str, np.ndarray]:
        """The client's report, from its training data and the model it was sent."""
        report, key = self.report, (client, self._drifted(round), self._poisoned(client, "train", round))
        if report is None:
            return {}
        if key in self._reports:
            return self._reports[key]
        x, y = self.data(client, "train", round)
        seen = self._latents.of(model, x) if report.of_latents else x
        made = {n: np.asarray(a) for n, a in report.make(seen, y, self.federation.dataset.kinds).items()}
        if not report.of_latents:  # it follows from the data alone, and may take longer than the training
            self._reports[key] = made
        return made

    @cached_property
    def _latents(self) -> Latents:
        return Latents(self.module)

    def origins(self) -> np.ndarray:
        """(clients, 3) where each client's replies come from, as numbers."""
        shards = self.federation.shards
        if isinstance(shards, Recipes):
            kinds = [origin(kind.address, kind.hour, kind.user) for kind in shards.kinds]
            return np.array(kinds)[shards.kind_of]
        return np.array([origin(shard.address, shard.hour, shard.user) for shard in shards])

    def _best(self, candidates: Models, x: np.ndarray, y: np.ndarray) -> int:
        lengths = np.array([len(y)])
        losses = [self._trainer.measures(model, x, y, lengths)[0, 1] for model in candidates]
        return int(np.nanargmin(losses)) if np.isfinite(losses).any() else 0

    def shares(self, client: int, round: int, candidates: Models) -> list[float]:
        """Of the client's training samples, the share that each candidate has the lowest loss on; the first of equals."""
        x, y = self.data(client, "train", round)
        if not len(y):
            return []
        each = np.ones(len(y), dtype=np.int64)
        losses = np.stack([self._trainer.measures(model, x, y, each)[:, 1] for model in candidates])
        best = np.where(np.isfinite(losses), losses, np.inf).argmin(axis=0)
        return [float(count) / len(y) for count in np.bincount(best, minlength=len(candidates))]

    def score(self, client: int, part: str, round: int, model: Vector) -> np.ndarray:
        """Score, mean loss and the task's other metrics of a model on a client's part ("test": what it is judged
        on); NaN where it holds no data."""
        part = self.judged_on if part == "test" else part
        x, y = self.data(client, part, round)
        if part == "test" and not len(
            y
        ):  # a client that brought no test data is judged on its validation data
            x, y = self.data(client, "validation", round)
        if not len(y):
            return np.full(self.columns, np.nan)
        row: np.ndarray = self._trainer.measures(model, x, y, np.array([len(y)]))[0]
        return row

    def score_many(self, clients: list[int], round: int, model: Vector) -> np.ndarray:
        """The same of one model on what several clients are judged on, one a row."""
        x, y, lengths = self._test_data(tuple(clients), round)
        if not len(y):
            return np.full((len(clients), self.columns), np.nan)
        return self._trainer.measures(model, x, y, lengths)

    def fooled(self, client: int, round: int, model: Vector) -> float:
        """The share of the client's test samples that the model gives the attackers' label once they carry the trigger."""
        if self.goal is None:
            return float("nan")
        x, y, _ = self._test_data((client,), round)
        adapts = any(attack.through for attack in self.poison.values())
        goal = self._seen.of(model)[1] if adapts else self.goal
        shown = np.ascontiguousarray(goal.shown(x, y), dtype=np.float32)
        if not len(shown):
            return float("nan")
        correct = self._trainer.losses(model, shown, np.full(len(shown), goal.target, dtype=np.int64))[1]
        return correct / len(shown)

    def _test_data(self, clients: tuple[int, ...], round: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Test data of several clients end to end; the same clients are asked for round after round."""
        key = (clients, self._drifted(round))
        if key not in self._joined:
            parts = [self._materialise(client, self.judged_on, round) for client in clients]
            # A client that brought no test data is judged on its validation data.
            parts = [
                part if len(part[1]) else self._materialise(client, "validation", round)
                for client, part in zip(clients, parts, strict=True)
            ]
            x, y = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
            if len(self._joined) >= _MOST_JOINED:
                self._joined.popitem(last=False)
            self._joined[key] = (x, y, np.array([len(part[1]) for part in parts]))
        return self._joined[key]

    def _idles(self, client: int, round: int) -> bool:
        return client in self.idle and round >= self.attack_from

    def _poisoned(self, client: int, part: str, round: int) -> bool:
        return part == "train" and client in self.poison and round >= self.attack_from

    def _made_through(self, client: int, round: int) -> bool:
        return self._poisoned(client, "train", round) and self.poison[client].through is not None

    @cached_property
    def _seen(self) -> MadeThrough:
        """What attackers make of the models that they hold."""
        attackers = sorted(self.poison)
        return MadeThrough(self.poison[attackers[0]], self.module, self.federation, attackers, self.seed)

    def _drifted(self, round: int) -> bool:
        return self.later is not None and round >= self.drift_round

    def data(self, client: int, part: str, round: int) -> tuple[np.ndarray, np.ndarray]:
        """The client's samples and labels, after what an attacker did to its training data."""
        key = (client, part, self._drifted(round), self._poisoned(client, part, round))
        if key in self._cache:
            self._cache.move_to_end(key)
            return self._cache[key]
        x, y = self._materialise(client, part, round)
        self._cache[key] = (x, y)
        self._cached += x.nbytes
        while self._cached > _CACHE_BYTES and len(self._cache) > 1:
            _, (old, _) = self._cache.popitem(last=False)
            self._cached -= old.nbytes
        return x, y

    def _materialise(self, client: int, part: str, round: int) -> tuple[np.ndarray, np.ndarray]:
        if is_root(client):
            assert self.root is not None
            return Federation(self.federation.dataset, (self.root,)).arrays(0, "train")
        federation = self.later if self.later is not None and self._drifted(round) else self.federation
        x, y = federation.arrays(client, part)
        if self._poisoned(client, part, round) and len(y):
            rng = generator(self.seed, "poison", client)
            x, y = self.poison[client].poison(x, y, federation.dataset.classes, rng)
        kind = np.int64 if self.federation.dataset.tokens else np.float32
        return np.ascontiguousarray(x, dtype=kind), np.ascontiguousarray(y)


def one_thread() -> None:
    """One thread per process: clients are spread over processes, and results do not depend on how many."""
    torch.set_num_threads(1)
