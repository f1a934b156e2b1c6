"""A federation: which client holds which samples of a data set, and how it sees them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from flockwise.data.bring_your_own import join_clients
from flockwise.data.dataset import Dataset
from flockwise.errors import InputError

PARTS = ("train", "validation", "test")


@dataclass(frozen=True, eq=False)
class Shard:
    """What one client holds. Index arrays point into the data set; the parts are disjoint."""

    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    test: NDArray[np.int64]
    relabel: tuple[int, ...] | None = None  # true label -> label this client uses
    turns: int = 0  # quarter turns of the images, counter-clockwise as in np.rot90
    group: int | None = None  # ground truth, for judging only: no strategy may read it
    address: str | None = None  # IPv4
    hour: float | None = None  # time of day at which its reports come, 0 to 24
    user: int | None = None


@dataclass(frozen=True, eq=False)
class Federation:
    """A data set dealt out to clients. Validation may steer a server; test data never may."""

    dataset: Dataset
    shards: tuple[Shard, ...]
    # The sections [data] and [split] of a config that makes exactly this, where there is one. No argument, so that
    # a changed copy does not have it.
    origin: Mapping[str, Mapping[str, Any]] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        """Refuse a federation of nobody, and groups that only some clients have."""
        if not self.shards:
            raise InputError("shards = (): a federation needs at least one client")
        if len({shard.group is None for shard in self.shards}) > 1:
            raise InputError("group = None for some clients only: give every client a group, or none")

    def made_by(self, origin: Mapping[str, Mapping[str, Any]]) -> "Federation":
        """The same federation, remembering the config sections that make it."""
        known = replace(self)
        object.__setattr__(known, "origin", origin)
        return known

    @property
    def clients(self) -> int:
        """How many clients there are."""
        return len(self.shards)

    @property
    def groups(self) -> NDArray[np.int64] | None:
        """Ground-truth group of each client, or None where there is no ground truth."""
        if self.shards[0].group is None:
            return None
        return np.array([shard.group for shard in self.shards], dtype=np.int64)

    def sizes(self, part: str = "train") -> NDArray[np.int64]:
        """Number of samples of each client in this part."""
        return np.array([len(self.indices(client, part)) for client in range(self.clients)], dtype=np.int64)

    def indices(self, client: int, part: str) -> NDArray[np.int64]:
        """The samples of one client's part, as indices into the data set."""
        if part not in PARTS:
            raise InputError(f"part = {part!r}: must be one of {', '.join(PARTS)}")
        if not 0 <= client < self.clients:
            raise InputError(f"client = {client}: must be 0 to {self.clients - 1}")
        found: NDArray[np.int64] = getattr(self.shards[client], part)
        return found

    def arrays(self, client: int, part: str) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """What the client sees: images in [0, 1] after its turns, labels after its relabelling."""
        indices = self.indices(client, part)
        shard = self.shards[client]
        x, y = self.dataset.scaled(indices), self.dataset.y[indices].astype(np.int64)
        if shard.turns % 4:
            x = np.ascontiguousarray(np.rot90(x, shard.turns, axes=(1, 2)))
        if shard.relabel is not None:
            y = np.asarray(shard.relabel, dtype=np.int64)[y]
        return x, y

    def official_test(self) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """The whole test part of the data set, untransformed, for papers that judge every model on it."""
        indices = self.dataset.test_indices
        return self.dataset.scaled(indices), self.dataset.y[indices].astype(np.int64)

    def label_counts(self, part: str = "train") -> NDArray[np.int64]:
        """(clients, classes) how many samples of each label a client holds, by the labels it uses."""
        counts = np.zeros((self.clients, self.dataset.classes), dtype=np.int64)
        for client, shard in enumerate(self.shards):
            y = self.dataset.y[self.indices(client, part)]
            if shard.relabel is not None:
                y = np.asarray(shard.relabel, dtype=np.int64)[y]
            counts[client] = np.bincount(y, minlength=self.dataset.classes)
        return counts

    @classmethod
    def from_arrays(
        cls,
        clients: Sequence[Any],
        classes: int | None = None,
        validation: float = 0.1,
        seed: int = 0,
        groups: Sequence[int] | None = None,
        layout: Literal["NHWC", "NCHW"] = "NHWC",
        name: str = "own",
    ) -> "Federation":
        """A federation from your own arrays, one entry per client.

        An entry is `(x, y)` or `((x, y), (x, y))` for training and test. Anything `np.asarray` takes
        will do. uint8 images are taken as 0 to 255 and scaled, everything else is used as float32 as
        it is. `layout="NCHW"` moves the channels of torch-style images last. A `validation` fraction
        of each client's training samples is set aside.
        """
        dataset, parts = join_clients(clients, classes, validation, seed, layout, name)
        if groups is not None and len(groups) != len(parts):
            raise InputError(f"groups = {len(groups)} entries: must be {len(parts)}, one per client")
        known = [None] * len(parts) if groups is None else [int(group) for group in groups]
        shards = (Shard(*part, group=group) for part, group in zip(parts, known, strict=True))
        return cls(dataset, tuple(shards))
