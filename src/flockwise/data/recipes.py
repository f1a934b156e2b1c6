"""Clients as recipes: what a client holds is worked out when it is asked for, so that a million of them cost nothing."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, overload, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from flockwise.data.shard import Shard

Indices = NDArray[np.int64]


class Parts(NamedTuple):
    """One client's samples, as indices into the data set."""

    train: Indices
    validation: Indices
    test: Indices


class Deal(Protocol):
    """Who is dealt which samples, one client at a time."""

    def __len__(self) -> int:
        """How many clients there are."""

    def __getitem__(self, client: int) -> Parts:
        """What one client holds; the same whenever it is asked for."""

    def sizes(self, part: str) -> NDArray[np.int64]:
        """How many samples of this part each client holds, without working out which."""


@runtime_checkable
class Sharing(Deal, Protocol):
    """A deal in which clients draw from the same samples, so that together they hold more than there are."""

    @property
    def trained(self) -> Indices:
        """The samples that clients may train on."""

    def without(self, taken: Indices) -> "Sharing":
        """The same with samples that nobody trains on."""


@dataclass(frozen=True, eq=False)
class Recipes(Sequence[Shard]):
    """The shards of a deal in which every client is of one of a few kinds: client k of `kind_of[k]`.

    A kind is a shard that holds nothing: how its clients see samples and labels, and their group.
    """

    deal: Deal
    kinds: tuple[Shard, ...]
    kind_of: NDArray[np.int64]

    @classmethod
    def in_turn(cls, deal: Deal, kinds: Sequence[Shard]) -> "Recipes":
        """Client k is of kind k modulo their number."""
        return cls(deal, tuple(kinds), np.arange(len(deal)) % len(kinds))

    def __len__(self) -> int:
        return len(self.kind_of)

    @overload
    def __getitem__(self, client: int) -> Shard: ...

    @overload
    def __getitem__(self, client: slice) -> tuple[Shard, ...]: ...

    def __getitem__(self, client: int | slice) -> Shard | tuple[Shard, ...]:
        """One client's shard, made now; or those of a slice."""
        if isinstance(client, slice):
            return tuple(self[each] for each in range(*client.indices(len(self))))
        place = range(len(self))[client]
        train, validation, test = self.deal[place]
        kind = self.kinds[int(self.kind_of[place])]
        return replace(kind, train=train, validation=validation, test=test)

    @property
    def groups(self) -> NDArray[np.int64] | None:
        """Ground-truth group of each client, or None where there is none."""
        known = [kind.group for kind in self.kinds]
        if None in known:
            return None
        return np.array(known, dtype=np.int64)[self.kind_of]

    def sizes(self, part: str) -> NDArray[np.int64]:
        """Number of samples of each client in this part."""
        return self.deal.sizes(part)

    def with_kinds(self, clients: NDArray[np.int64], kinds: NDArray[np.int64]) -> "Recipes":
        """The same in which some clients are of other kinds."""
        changed = self.kind_of.copy()
        changed[clients] = kinds
        return replace(self, kind_of=changed)


def kind(group: int | None = None, **seen: object) -> Shard:
    """A shard that holds nothing, to say how clients of a kind see what they are dealt."""
    nothing = np.zeros(0, dtype=np.int64)
    return Shard(nothing, nothing, nothing, group=group, **seen)  # type: ignore[arg-type]
