"""A Ray cluster of one process, whose nodes die when a test says so: as much of Ray as the engine uses."""

import itertools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any


class RayError(Exception):
    pass


class RayTaskError(RayError):
    cause: object = "mine: no such module"


class FakeRay:
    """`dies(node, method, calls)` says whether a node dies before it answers its so-manieth call of all."""

    def __init__(
        self, cores: dict[str, int], dies: Callable[[str, str, int], bool] = lambda *_: False
    ) -> None:
        self.cores = dict(cores)
        self.dies = dies
        self.calls: list[tuple[str, str]] = []
        self.exceptions = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)
        affinity = lambda id, soft: id  # noqa: E731
        self.util = SimpleNamespace(
            scheduling_strategies=SimpleNamespace(NodeAffinitySchedulingStrategy=affinity)
        )
        self.puts = 0
        self.killed: list[str] = []

    def put(self, value: object) -> "Ref":
        self.puts += 1
        return Ref(lambda: value)

    def get(self, ref: "Ref") -> Any:
        return ref.value()

    def wait(self, refs: list["Ref"], num_returns: int, timeout: float) -> tuple[list["Ref"], list["Ref"]]:
        return refs[-1:], refs[:-1]  # the last comes first

    def nodes(self) -> list[dict[str, Any]]:
        return [
            {"NodeID": id, "Alive": cores > 0, "NodeManagerAddress": "192.0.2.1", "Resources": {"CPU": cores}}
            for id, cores in self.cores.items()
        ]

    def kill(self, actor: "Actor") -> None:
        self.killed.append(actor.node)

    def remote(self, kind: type) -> Any:
        return SimpleNamespace(
            options=lambda num_cpus, scheduling_strategy: SimpleNamespace(
                remote=lambda: Actor(self, scheduling_strategy, kind())
            )
        )


class Actor:
    def __init__(self, cluster: FakeRay, node: str, made: Any) -> None:
        self._cluster, self.node, self._made = cluster, node, made

    def __getattr__(self, name: str) -> Any:
        def remote(*arguments: Any) -> Ref:
            self._cluster.calls.append((self.node, name))
            if self._cluster.dies(self.node, name, len(self._cluster.calls)):
                self._cluster.cores[self.node] = 0
                return Ref(_gone)
            given = [one.value() if isinstance(one, Ref) else one for one in arguments]
            found = getattr(self._made, name)(*given)
            return Ref(lambda: found)

        return SimpleNamespace(remote=remote)


class Ref:
    _numbers = itertools.count()

    def __init__(self, value: Callable[[], Any]) -> None:
        self.value = value
        self._number = next(self._numbers)

    def __hash__(self) -> int:
        return self._number


def _gone() -> None:
    raise RayError("the actor died")
