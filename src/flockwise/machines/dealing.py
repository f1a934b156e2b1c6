"""How work is dealt out to nodes: as they come for it, or each its own; what a lost node had goes to another."""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

Block = TypeVar("Block")
Item = TypeVar("Item")
Cores = Mapping[str, int]  # of each node that is there


class Deal(ABC, Generic[Block]):
    """Blocks of work that nodes come for."""

    def __init__(self) -> None:
        self._lost: list[Block] = []

    @property
    def left(self) -> bool:
        """Whether there is work that nobody has."""
        return bool(self._lost) or self._more()

    def take(self, node: str, cores: Cores) -> Block | None:
        """The next block for this node; None: there is nothing for it."""
        return self._lost.pop() if self._lost else self._next(node, cores)

    def give_back(self, block: Block) -> None:
        """A block whose node was lost."""
        self._lost.append(block)

    @abstractmethod
    def _more(self) -> bool: ...

    @abstractmethod
    def _next(self, node: str, cores: Cores) -> Block | None: ...


class Guided(Deal[list[Item]]):
    """Items with weights, the heaviest first; a node takes its share of half of what is left, so that all end together.

    A node that is alone takes all of it. `most` is how many items a block may have.
    """

    def __init__(self, items: Sequence[tuple[int, Item]], most: int) -> None:
        super().__init__()
        self._waiting = deque(items)
        self._weight = sum(weight for weight, _ in items)
        self._most = max(most, 1)

    def _more(self) -> bool:
        return bool(self._waiting)

    def _next(self, node: str, cores: Cores) -> list[Item] | None:
        wanted = self._weight * cores[node] / sum(cores.values()) / (2 if len(cores) > 1 else 1)
        block: list[Item] = []
        held = 0
        while self._waiting and len(block) < self._most and (held < wanted or len(block) < cores[node]):
            weight, item = self._waiting.popleft()
            block.append(item)
            held += weight
        self._weight -= held
        return block or None


class Shares(Deal[Item]):
    """Each node has its own, so that it meets the same clients round after round; who came too late has none."""

    def __init__(self, shares: Mapping[str, Item]) -> None:
        super().__init__()
        self._own = dict(shares)

    def _more(self) -> bool:
        return bool(self._own)

    def _next(self, node: str, cores: Cores) -> Item | None:
        orphans = [owner for owner in self._own if owner not in cores]
        owner = node if node in self._own else next(iter(orphans), None)
        return None if owner is None else self._own.pop(owner)
