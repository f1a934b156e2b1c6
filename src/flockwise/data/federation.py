"""A federation: which client holds which samples of a data set, and how it sees them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from flockwise.data.bring_your_own import Labels, join_clients
from flockwise.data.dataset import Dataset
from flockwise.data.inputs import Inputs
from flockwise.data.metadata import checked_about, checked_names, client_entries, origin_of
from flockwise.data.recipes import Recipes, Sharing
from flockwise.data.sequences import IGNORED
from flockwise.data.shard import Shard
from flockwise.data.tables import Target
from flockwise.data.view import AS_IT_IS
from flockwise.errors import InputError

PARTS = ("train", "validation", "test")


@dataclass(frozen=True, eq=False)
class Federation:
    """A data set dealt out to clients. Validation may steer a server; test data never may.

    Shards are a tuple, or `Recipes`, which make a client's shard when it is asked for: go through all of them only
    where there is no other way.
    """

    dataset: Dataset
    shards: Sequence[Shard]
    # The sections [data] and [split] of a config that makes exactly this, where there is one. No argument, so that
    # a changed copy does not have it.
    origin: Mapping[str, Mapping[str, Any]] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        """Refuse a federation of nobody, and groups that only some clients have."""
        if not self.shards:
            raise InputError("shards = (): a federation needs at least one client")
        kinds = self.shards.kinds if isinstance(self.shards, Recipes) else self.shards
        if len({shard.group is None for shard in kinds}) > 1:
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
        if isinstance(self.shards, Recipes):
            return self.shards.groups
        if self.shards[0].group is None:
            return None
        return np.array([shard.group for shard in self.shards], dtype=np.int64)

    @property
    def names(self) -> list[str]:
        """What each client is called."""
        return [self.name(client) for client in range(self.clients)]

    def name(self, client: int) -> str:
        """What one client is called."""
        own = None if isinstance(self.shards, Recipes) else self.shards[client].name
        return own or f"client {client}"

    @property
    def is_shared(self) -> bool:
        """Whether clients draw from the same samples, so that there may be more of them than samples."""
        return isinstance(self.shards, Recipes) and isinstance(self.shards.deal, Sharing)

    def sizes(self, part: str = "train") -> NDArray[np.int64]:
        """Number of samples of each client in this part."""
        if isinstance(self.shards, Recipes) and part in PARTS:
            return self.shards.sizes(part)
        return np.array([len(self.indices(client, part)) for client in range(self.clients)], dtype=np.int64)

    def indices(self, client: int, part: str) -> NDArray[np.int64]:
        """The samples of one client's part, as indices into the data set."""
        return self._part(client, part)[1]

    def _part(self, client: int, part: str) -> tuple[Shard, NDArray[np.int64]]:
        if part not in PARTS:
            raise InputError(f"part = {part!r}: must be one of {', '.join(PARTS)}")
        if not 0 <= client < self.clients:
            raise InputError(f"client = {client}: must be 0 to {self.clients - 1}")
        shard = self.shards[client]
        return shard, getattr(shard, part)

    def arrays(self, client: int, part: str) -> tuple[NDArray[Any], NDArray[Any]]:
        """What the client sees: images in [0, 1] after its turns, labels after its relabelling."""
        shard, indices = self._part(client, part)
        x = self.dataset.scaled(indices)
        if shard.view != AS_IT_IS:
            x = shard.view.seen(x, client, part)
        if shard.turns % 4:
            x = np.ascontiguousarray(np.rot90(x, shard.turns, axes=(1, 2)))
        return x, self._labels(shard, indices)

    def _labels(self, shard: Shard, indices: NDArray[np.int64]) -> NDArray[Any]:
        """A client's labels, as it uses them: int64, or float32 where they are numbers to predict."""
        y = np.asarray(self.dataset.y[indices])
        if y.dtype.kind == "f":
            return y.astype(np.float32)
        y = y.astype(np.int64)
        if shard.relabel is None:
            return y
        known = y != IGNORED
        y[known] = np.asarray(shard.relabel, dtype=np.int64)[y[known]]
        return y

    def official_test(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The whole test part of the data set, untransformed, for papers that judge every model on it."""
        indices = self.dataset.test_indices
        plain = Shard(indices, indices[:0], indices[:0])
        return self.dataset.scaled(indices), self._labels(plain, indices)

    def label_counts(self, part: str = "train") -> NDArray[np.int64]:
        """(clients, classes) how many samples of each label a client holds, by the labels it uses."""
        counts = np.zeros((self.clients, self.dataset.classes), dtype=np.int64)
        for client, shard in enumerate(self.shards) if self.dataset.classes else ():
            y = self._labels(shard, self.indices(client, part)).ravel()
            counts[client] = np.bincount(y[y != IGNORED], minlength=self.dataset.classes)
        return counts

    @classmethod
    def from_arrays(
        cls,
        clients: Sequence[Any] | Mapping[str, Any],
        classes: int | Sequence[str] | None = None,
        validation: float = 0.1,
        seed: int = 0,
        groups: Sequence[int] | None = None,
        layout: Literal["NHWC", "NCHW"] = "NHWC",
        name: str = "own",
        *,
        names: Sequence[str] | None = None,
        about: Sequence[Mapping[str, Any]] | Mapping[str, Any] | None = None,
        inputs: Inputs = "auto",
        labels: Labels = "classes",
        target: Target | None = None,
        features: Sequence[str] | None = None,
    ) -> "Federation":
        """A federation from data of your own: a list with an entry for each client, or a mapping from names.

        An entry is `(x, y)`, or `((x, y), (x, y))` for training and test; anything `np.asarray` takes will do. It may
        also be a table (pandas, polars, pyarrow, Hugging Face) whose column `target` (or several) is learned from the
        others, or from `features`; a torch `Dataset`; two of those; or `{"train": ..., "test": ...}`. Sequences of different
        lengths are padded at their end, with label -100 where they have labels of their own.

        `inputs` says what samples are: "images" (bytes are 0 to 255 and scaled), "tokens" (whole numbers for an
        embedding) or "numbers" (float32, as they are). "auto": bytes of two or three dimensions are images, whole
        numbers of different lengths tokens, everything else numbers. `layout="NCHW"` moves the channels of torch-style
        images last. `labels="numbers"` is for numbers to predict; labels that are text are numbered in order, or as
        `classes` has them, which may also be how many there are.

        `about` is what is known of clients (`{"north": {"place": "Oslo", "beds": 900}}`), to be shown with them. A
        `validation` fraction of each client's training samples is set aside.
        """
        entries, keys = client_entries(clients)
        known = checked_names(keys if names is None else names, len(entries))
        fields = [f"clients[{number if who is None else who!r}]" for number, who in enumerate(known)]
        told = checked_about(about, known)
        dataset, parts = join_clients(
            entries, fields, classes=classes, validation=validation, seed=seed, layout=layout, name=name,
            inputs=inputs, labels=labels, target=target, features=features,
        )  # fmt: skip
        if groups is not None and len(groups) != len(parts):
            raise InputError(f"groups = {len(groups)} entries: must be {len(parts)}, one per client")
        kinds = [None] * len(parts) if groups is None else [int(group) for group in groups]
        shards = [
            Shard(*part, group=kind, name=who, about=facts, **origin_of(facts, field))
            for part, kind, who, facts, field in zip(parts, kinds, known, told, fields, strict=True)
        ]
        return cls(dataset, tuple(shards))
