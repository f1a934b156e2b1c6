"""Which of a model's numbers travel between clients and server, and which stay with the client."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property

import numpy as np

from flockwise.errors import InputError
from flockwise.models.layout import Layout
from flockwise.models.spans import joined_spans
from flockwise.types import Rows, Vector

EVERYTHING = ("*",)


@dataclass(frozen=True)
class Travel:
    """A mask by tensor name: those that match a pattern travel, the others are each client's own (own heads).

    What never trains is the same everywhere: it neither travels, unless it is named, nor is it in anybody's keeping.
    """

    layout: Layout
    travelling: tuple[bool, ...]  # for each entry of the layout
    fixed: tuple[bool, ...] = ()  # likewise: never trained and not sent; (): none
    base: Vector | None = field(default=None, compare=False)  # a whole model, for what is fixed

    @classmethod
    def of(
        cls, layout: Layout, patterns: Sequence[str] = EVERYTHING, head: int = 0,
        still: frozenset[str] = frozenset(), base: Vector | None = None, layer: str = "",
    ) -> "Travel":  # fmt: skip
        """The tensors whose names match one of the patterns, such as "features.*"; all but `head` layers, if all match.

        `layer` is one that stays behind by its name.

        `still` are the names of those that never train, `base` a model that has them.
        """
        names = [entry.name for entry in layout.entries]
        everything = tuple(patterns) == EVERYTHING
        if layer and everything:
            wanted = _but(layout, layer)
        elif head and everything:
            wanted = _but_the_last(layout, head)
        else:
            for pattern in patterns:
                if not any(fnmatchcase(name, pattern) for name in names):
                    raise InputError(
                        f"model.travels = {pattern!r}: no tensor is called so; there are {', '.join(names[:12])}"
                    )
            wanted = tuple(any(fnmatchcase(name, pattern) for pattern in patterns) for name in names)
        if base is None or not still.intersection(names):
            return cls(layout, wanted)
        pairs = list(zip(names, wanted, strict=True))
        fixed = tuple(name in still and (everything or not travels) for name, travels in pairs)
        return cls(layout, tuple(t and not f for t, f in zip(wanted, fixed, strict=True)), fixed, base)

    @cached_property
    def everything(self) -> bool:
        """Whether nothing stays behind."""
        return all(self.travelling)

    def _spread(self, chosen: Sequence[bool]) -> np.ndarray:
        mask = np.zeros(self.layout.size, dtype=bool)
        for entry, wanted in zip(self.layout.entries, chosen, strict=True):
            mask[entry.start : entry.stop] = wanted
        return mask

    @cached_property
    def _mask(self) -> np.ndarray:
        return self._spread(self.travelling)

    @cached_property
    def _fixed(self) -> np.ndarray:
        return self._spread(self.fixed or [False] * len(self.travelling))

    @cached_property
    def _own(self) -> np.ndarray:
        own: np.ndarray = ~self._mask & ~self._fixed
        return own

    @cached_property
    def size(self) -> int:
        """How many numbers travel."""
        return int(self._mask.sum())

    @cached_property
    def own_size(self) -> int:
        """How many stay with each client."""
        return int(self._own.sum())

    @cached_property
    def own_places(self) -> Rows:
        """Where in a whole model they lie."""
        return np.flatnonzero(self._own)

    @property
    def still(self) -> Vector | None:
        """What never changes, where there is anything."""
        if self.base is None or not self._fixed.any():
            return None
        still: Vector = self.base[self._fixed]
        return still

    def based_on(self, still: Vector | None) -> "Travel":
        """The same with what never changes as it is on record, if it is."""
        if still is None or self.base is None or still.shape != (int(self._fixed.sum()),):
            return self
        base = self.base.copy()
        base[self._fixed] = still
        return replace(self, base=base)

    def part(self, model: Vector) -> Vector:
        """What of a whole model travels."""
        part: Vector = model if self.everything else model[self._mask]
        return part

    def own(self, model: Vector) -> Vector:
        """What of a whole model stays with a client."""
        own: Vector = model[self._own]
        return own

    def whole(self, part: Vector, own: Vector) -> Vector:
        """A model of what travelled, what stayed and what never changes."""
        if self.everything:
            return part
        model = np.empty(self.layout.size, dtype=np.float32) if self.base is None else self.base.copy()
        model[self._mask], model[self._own] = part, own
        return model

    @property
    def learned(self) -> tuple[tuple[int, int], ...]:
        """Where the travelling numbers lie that training moves, as spans; () if all of them are."""
        pairs = zip(self.layout.entries, self.travelling, strict=True)
        return joined_spans(
            (entry.stop - entry.start, entry.trainable) for entry, travels in pairs if travels
        )

    @property
    def layers(self) -> tuple[tuple[int, int], ...]:
        """First and last travelling number of each layer: a module's weight and bias are one, statistics each one.

        The statistics of batch normalisation tell most about a client's data. The communities paper's code counts every
        array, but a bias that starts at zero changes by more than itself, whatever it learns, and hides the rest.
        """
        spans: dict[str, list[int]] = {}
        start = 0
        for entry, travels in zip(self.layout.entries, self.travelling, strict=True):
            if travels:
                name = entry.name.rpartition(".")[0] if entry.trainable else entry.name
                stop = start + entry.stop - entry.start
                spans.setdefault(name, []).extend((start, stop))
                start = stop
        return tuple((min(ends), max(ends)) for ends in spans.values())


def _but(layout: Layout, layer: str) -> tuple[bool, ...]:
    """All tensors but those of this layer."""
    wanted = tuple(entry.name.rpartition(".")[0] != layer for entry in layout.entries)
    if all(wanted):
        raise InputError(
            f"model.name: the strategy keeps a layer called {layer!r} with each client, and this model has none; choose "
            "one that has, such as model.name = 'mixture'"
        )
    return wanted


def _but_the_last(layout: Layout, head: int) -> tuple[bool, ...]:
    """All tensors but those of the last layers that are trained."""
    layers = dict.fromkeys(entry.name.rpartition(".")[0] for entry in layout.entries if entry.trainable)
    if head >= len(layers):
        raise InputError(
            f"strategy.head = {head}: this model has {len(layers)} layers, so nothing would travel; choose a deeper model, "
            "such as model.name = 'mlp', or a smaller head"
        )
    last = list(layers)[-head:]
    return tuple(entry.name.rpartition(".")[0] not in last for entry in layout.entries)
