"""What the server knows between rounds: a handful of arrays, so that saving it needs no code per method."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Generic, Protocol, TypeVar, cast, get_args, get_type_hints, runtime_checkable

import numpy as np

from flockwise.errors import InputError
from flockwise.types import Labels, Mask, Models

UNPLACED = -1  # a client that no flock has been found for yet
FREE, QUARANTINED, CONFIRMED = 0, 1, 2  # values of State.apart


def flocks_in(labels: Labels) -> Labels:
    """The flocks that occur among labels, in order."""
    return np.flatnonzero(np.bincount(labels[labels != UNPLACED]))  # np.unique takes ten times as long


@dataclass(frozen=True)
class State:
    """The server's state after a closed round. It never changes: a later round makes another one."""

    round: int  # rounds closed so far
    models: Models  # (flocks, parameters)
    labels: Labels  # (clients,) flock of each client, or UNPLACED
    apart: np.ndarray  # (clients,) int8: FREE, QUARANTINED or CONFIRMED
    memory: Mapping[str, Any] = field(
        default_factory=lambda: MappingProxyType({})
    )  # read it through a `Slot`

    @property
    def clients(self) -> int:
        """How many clients there are, heard or not."""
        return len(self.labels)

    @property
    def free(self) -> Mask:
        """The clients that take part."""
        return np.asarray(self.apart == FREE)

    @property
    def flocks(self) -> int:
        """How many flocks have members."""
        return len(flocks_in(self.labels))

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Everything as named arrays, for a checkpoint."""
        own: dict[str, np.ndarray] = {
            "round": np.array([self.round], dtype=np.int64),
            "models": self.models,
            "labels": self.labels,
            "apart": self.apart,
        }
        for slot, held in self.memory.items():
            own |= {f"memory/{slot}/{name}": array for name, array in _arrays(held).items()}
        return own

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> "State":
        """The inverse of `to_arrays`, which takes the arrays over; memories are made when a stage first reads them."""
        memory: dict[str, _Saved] = {}
        for key, array in arrays.items():
            kind, _, name = key.partition("/")
            slot, _, part = name.partition("/")
            if kind == "memory" and part:
                memory.setdefault(slot, _Saved({})).arrays[part] = array
        return cls(int(arrays["round"][0]), arrays["models"], arrays["labels"], arrays["apart"], memory)


@dataclass
class _Saved:
    """A memory from a checkpoint, made once for all states that share it: one made of it may be changed in place."""

    arrays: dict[str, np.ndarray]
    made: Any = None


T = TypeVar("T")


@runtime_checkable
class Memory(Protocol):
    """What a stage may remember that is no NamedTuple: it says itself which arrays it is made of."""

    def arrays(self) -> Mapping[str, np.ndarray]:
        """All of it, by name."""

    @classmethod
    def from_arrays(cls, arrays: Any) -> Any:
        """The same memory again."""


def _home(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


SLOTS: "dict[str, Slot[Any]]" = {}  # every slot by name


class Slot(Generic[T]):
    """A place in the state for what one stage remembers: a NamedTuple of arrays and whole numbers.

    A kind that is no NamedTuple is a `Memory`. `by_client` names its arrays that have a
    row for each client, with what a client has that is new; `squares` those that are client by client. A memory that
    does not say is forgotten when a run goes on with other clients, and so is one that is `brief`.
    """

    def __init__(
        self, name: str, kind: type[T], by_client: Mapping[str, float] | None = None,
        squares: frozenset[str] = frozenset(), brief: bool = False,
    ) -> None:  # fmt: skip
        self.name, self._kind = name, kind
        self.by_client, self.squares, self.brief = by_client, squares, brief
        before = SLOTS.get(name, self)
        if _home(before._kind) != _home(kind):
            raise InputError(f"Slot({name!r}): is the memory of {_home(before._kind)}; choose another name")
        SLOTS[name] = self

    def __repr__(self) -> str:
        return self.name

    def get(self, state: State) -> T | None:
        """What is remembered, if anything is."""
        held = state.memory.get(self.name)
        if not isinstance(held, _Saved):
            return cast(T | None, held)
        if held.made is None:
            held.made, held.arrays = self._from(held.arrays), {}
        return cast(T, held.made)

    def _from(self, arrays: Mapping[str, np.ndarray]) -> T:
        if issubclass(self._kind, Memory):
            made: T = self._kind.from_arrays(arrays)
            return made
        hints = get_type_hints(self._kind)
        whole = {name for name, hint in hints.items() if hint is int or int in get_args(hint)}
        return self._kind(
            **{name: int(a[0]) if name in whole else a for name, a in arrays.items() if name in hints}
        )

    def put(self, state: State, value: T) -> State:
        """The same state with this remembered."""
        return replace(state, memory={**state.memory, self.name: value})

    def drop(self, state: State) -> State:
        """The same state with nothing remembered here."""
        if self.name not in state.memory:
            return state
        return replace(state, memory={name: held for name, held in state.memory.items() if name != self.name})


def _arrays(held: Any) -> dict[str, np.ndarray]:
    if isinstance(held, _Saved):
        return held.arrays if held.made is None else _arrays(held.made)
    if isinstance(held, Memory):
        return dict(held.arrays())
    return {
        name: np.array([part]) if isinstance(part, int) else part
        for name, part in held._asdict().items()
        if part is not None
    }


def all_alike(models: Models) -> bool:
    """Whether there is nothing to choose between."""
    return all(np.array_equal(models[0], model) for model in models[1:])


def largest_flock(state: State) -> int:
    """The flock with most free members; the lowest number wins a tie."""
    placed = state.labels[(state.labels != UNPLACED) & state.free]
    return int(np.bincount(placed).argmax()) if len(placed) else 0


def first_state(initial: Models, clients: int) -> State:
    """The state before round 1: everyone in flock 0, nobody set apart."""
    return State(
        round=0,
        models=np.ascontiguousarray(initial, dtype=np.float32),
        labels=np.zeros(clients, dtype=np.int64),
        apart=np.zeros(clients, dtype=np.int8),
    )
