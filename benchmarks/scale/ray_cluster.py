"""A run on a Ray cluster whose nodes are killed, cut off and added in mid-round, beside the same run on one machine.

    python benchmarks/scale/ray_cluster.py [--rounds 12] [--json FILE]

Three nodes and a head, each by a `ray start` of its own, in network namespaces of their own if this user may make them.
In round 3 a node is killed (all its processes at once) while it trains, in round 5 one joins, and in round 7, with
namespaces, the cable of another is pulled. Ray has its default health checks. What is claimed: all models, memories, what
clients keep and all facts have the bits of the local engine's run. Also told: how many blocks of work each node had, and how
long the rounds took in which a node was lost. Round 9 waits until the node that joined is ready, so that it has work.
"""

import argparse
import json
import os
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
from nodes import Nodes, can_have_namespaces

import flockwise as fw
from flockwise.engine import ClientWork
from flockwise.machines import RayEngine

CONFIG: dict[str, Any] = {
    "data": {"name": "digits"},
    "split": {"name": "label_swap", "clients": 24, "groups": 4},
    "model": {"name": "mlp"},
    "training": {"epochs": 2, "batch_size": 10},
    "sampling": {"fraction": 0.5},
    "evaluation": {"every": 1},
    "checkpoint": {"every": 1},
}
METHODS: dict[str, dict[str, Any]] = {
    "flic": {"strategy": {"name": "flic", "warmup": 3}},
    "ditto": {"strategy": {"name": "ditto"}},  # clients keep models of their own
    "pacfl": {"strategy": {"name": "pacfl"}},  # clients report
}
TOLD = ("joined", "left", "trainer")
Happening = Callable[[RayEngine, Any], None]


@dataclass(frozen=True)
class Eventful:
    """The Ray engine, to which something happens as soon as the first block of a round is on its way to a node."""

    address: str
    happenings: dict[int, Happening]
    blocks: Counter[str]  # by node

    def open(self, work: ClientWork, most_models: int) -> RayEngine:
        """An engine whose sending is watched."""
        engine = fw.Ray(self.address).open(work, most_models)
        sender, left = engine._sender, dict(self.happenings)

        def watched(kind: str, plan: Any) -> Any:
            send = sender(kind, plan)

            def sending(member: Any, block: Any) -> Any:
                sent = send(member, block)
                self.blocks[host(member)] += 1
                if plan.round in left:
                    left.pop(plan.round)(engine, member)
                return sent

            return sending

        engine._sender = watched  # type: ignore[method-assign]
        return engine


def same(here: fw.Run, there: fw.Run) -> list[str]:
    """What differs."""
    last = int(here.rounds[-1])
    ours, theirs = here.checkpoint(last), there.checkpoint(last)
    wrong = sorted(set(ours) ^ set(theirs))
    wrong += [name for name in set(ours) & set(theirs) if ours[name].tobytes() != theirs[name].tobytes()]
    return wrong + [
        name for name, values in here.facts.items() if values.tobytes() != there.facts[name].tobytes()
    ]


def on_cluster(method: str, rounds: int, namespaces: bool, folder: Path) -> dict[str, Any]:
    """One method, on a cluster of its own."""
    config = {**CONFIG, **METHODS[method], "rounds": rounds}
    here = fw.run(config, out=folder / f"{method}-local")
    nodes, numbers = Nodes(namespaces), {}
    try:
        for number in (1, 2, 3):  # one by one: two that begin at once may take the same socket
            nodes.add(number)
            numbers[nodes.host(number)] = number
            ready(nodes.address, number + 1)
        faults: dict[int, Happening] = {
            3: lambda engine, member: nodes.kill(numbers[host(member)]),
            5: lambda engine, member: threading.Thread(target=nodes.add, args=(4,)).start(),
            9: lambda engine, member: joined(engine, nodes.host(4)),
        }
        if namespaces:
            faults[7] = lambda engine, member: nodes.cut(numbers[host(member)])
        blocks: Counter[str] = Counter()
        there = fw.run(config, out=folder / f"{method}-ray", engine=Eventful(nodes.address, faults, blocks))
    finally:
        nodes.close()
    return {
        "differs": same(here, there), "blocks": dict(blocks), "seconds": [round(float(s), 2) for s in there.seconds],
        "seconds_local": [round(float(s), 2) for s in here.seconds],
        "events": [f"round {e.round}: {e.kind}: {e.message}" for e in there.events if e.kind in TOLD],
    }  # fmt: skip


def ready(address: str, nodes: int, seconds: float = 180.0) -> None:
    """Wait until so many nodes have joined the cluster."""
    import ray

    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            ray.init(address=address, log_to_driver=False, configure_logging=False)
            while sum(node["Alive"] for node in ray.nodes()) < nodes and time.monotonic() < end:
                time.sleep(0.5)
            return
        except (ConnectionError, RuntimeError, ValueError):  # the head is not up yet
            time.sleep(1)
        finally:
            ray.shutdown()
    raise SystemExit(f"the cluster did not have {nodes} nodes within {seconds:g} s")


def joined(engine: RayEngine, where: str, seconds: float = 180.0) -> None:
    """Wait until a node is ready, so that there is a round in which it has work."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and where not in map(host, engine._members.ready.values()):
        engine._members.look()
        time.sleep(0.5)


def host(member: Any) -> str:
    """The address of a member."""
    return str(member.name.split()[1])


def main() -> None:
    """Run, compare, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    namespaces = can_have_namespaces()
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="flockwise-") as folder:
        for method in options.methods.split(","):
            found[method] = on_cluster(method, options.rounds, namespaces, Path(folder))
            print(method, json.dumps(found[method], indent=1), flush=True)
    about = {
        "command": "python benchmarks/scale/ray_cluster.py", "date": time.strftime("%Y-%m-%d"),
        "nodes": 3, "network_namespaces": namespaces, "versions": {"ray": version("ray"), "torch": version("torch")},
        "load": round(os.getloadavg()[0], 2), "methods": found,
    }  # fmt: skip
    if options.json:
        options.json.write_text(json.dumps(about, indent=1) + "\n")
    sys.exit(any(row["differs"] for row in found.values()))


if __name__ == "__main__":
    main()
