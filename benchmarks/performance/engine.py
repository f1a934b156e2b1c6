"""Whole rounds on this machine: the plain loop, our two paths, and peers, on the same work in the same run.

    python benchmarks/performance/engine.py --data DIR [--quick] [--json FILE] [--pfl-python FILE] [--only A,B,memory]

Workload A: the papers' CNN, 100 clients with 600 MNIST digits, 10 a round, batch 10, one epoch.
Workload B: softmax regression, 1000 clients with 60 digits, 10 a round, batch 10, one epoch.
Every way is a process of its own, and they take turns: one round each of A, some dozens each of B. Then what
testing all clients costs beside a round of training, and the memory of `flockwise run`.

Peers that are not there are left out. Flower's simulation: `pip install -c constraints.txt -e
'.[flower-simulation]'`. pfl-research wants older versions of some packages, so it has an environment of its own:

    python -m venv pfl && pfl/bin/pip install -c constraints.txt -e '.[peers]'
    python benchmarks/performance/engine.py --data DIR --pfl-python pfl/bin/python
"""

import argparse
import importlib.util
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

from costs import evaluation, memory
from tables import ALONE, NATIVE, SCALING, TESTED, WHOLE, costs_table, rounds_table, targets_table
from turns import Way, interleaved

from flockwise.kernels.parallel import available_cores

HERE = Path(__file__).parent
A = {
    "data": {"name": "mnist"},
    "split": {"name": "iid", "clients": 100, "validation": 0},
    "model": {"name": "cnn"},
    "training": {"epochs": 1, "batch_size": 10, "learning_rate": 0.01},
    "sampling": {"fraction": 0.1},
    "rounds": 10**6,
}
B = {
    **A,
    "split": {"name": "iid", "clients": 1000, "validation": 0},
    "model": {"name": "softmax"},
    "training": {"epochs": 1, "batch_size": 10, "learning_rate": 0.03},
    "sampling": {"fraction": 0.01},
}
PAPERS = {
    **A,
    "training": {"epochs": 5, "batch_size": 10, "learning_rate": 0.01},
}  # a round as the papers have it
PARTS = ("A", "scaling", "scaling A", "B", "evaluation", "memory")
# turns, rounds in each, rounds before that do not count: in B, until most clients have been asked once
TURNS = {"A": (4, 3, 0), "scaling": (10, 1, 0), "scaling A": (8, 3, 0), "B": (10, 30, 300)}
QUICK_TURNS = {"A": (2, 1, 0), "scaling": (1, 1, 0), "scaling A": (2, 1, 0), "B": (3, 20, 50)}


def ways(name: str, data: Path, pfl: Path | None) -> dict[str, Callable[[], Way]]:
    """How to start each way of a workload."""
    content = {"scaling": PAPERS, "B": B}.get(name, A)
    cores = available_cores()

    def start(script: str, *before: str, after: tuple[str, ...] = (), **engine: object) -> Callable[[], Way]:
        config = json.dumps({**content, "engine": engine})
        interpreter = str(pfl) if script == "pfl_peer.py" else sys.executable
        command = [interpreter, str(HERE / script), *before, config, str(data), *after]
        return lambda: Way(command, restless=script == "flower_peer.py")

    native = {NATIVE: start("ways.py", "ours", path="native")}
    if name in SCALING:
        return {**native, ALONE: start("ways.py", "ours", path="native", workers=1)}
    found = {
        "plain loop": start("ways.py", "plain"),
        "ours, generic path": start("ways.py", "ours", path="generic"),
        **native,
    }
    if name == "B":
        found[WHOLE] = start("ways.py", "whole")
        found[TESTED] = start("ways.py", "tested")
    if pfl:
        alone = str(cores if name == "A" else 1)  # torch's threads only pay where there is much to compute
        found["pfl-research, 1 process"] = start("pfl_peer.py", after=("1", alone))
        found[f"pfl-research, {cores} processes"] = start("pfl_peer.py", after=(str(cores), "1"))
    if importlib.util.find_spec("ray") and importlib.util.find_spec("flwr"):
        found["Flower simulation"] = start("flower_peer.py")
    return found


def versions_of(interpreter: Path | str, *packages: str) -> dict[str, str] | None:
    """Versions of packages in an environment; None if one is missing."""
    code = "import sys, json; from importlib.metadata import version; import flockwise, torch\n"
    code += "print(json.dumps({name: version(name) for name in sys.argv[1:]}))"
    try:
        done = subprocess.run([interpreter, "-c", code, *packages], capture_output=True, text=True)
    except OSError:
        return None
    found: dict[str, str] | None = json.loads(done.stdout) if done.returncode == 0 else None
    return found


def cpu() -> str:
    """The processor's name."""
    file = Path("/proc/cpuinfo")
    for line in file.read_text().splitlines() if file.exists() else []:
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def measured(parts: list[str], data: Path, pfl: Path | None, quick: bool) -> dict[str, Any]:
    """All parts, with the load of the machine before and after each."""
    found: dict[str, Any] = {"results": {}, "load": {}, "left_out": {}}
    for part in parts:
        before = os.getloadavg()[0]
        print(f"{part}: load {before:.1f}", flush=True)
        if part in TURNS:
            turns, rounds, warm = (QUICK_TURNS if quick else TURNS)[part]
            rows = interleaved(ways(part, data, pfl), rounds, turns, warm, found["left_out"])
            found["results"][part] = rows
            print(f"\n{part}\n\n{rounds_table(rows)}", flush=True)
        elif part == "evaluation":
            # flocks, clients trained, epochs (5 as in the papers' own rounds), repetitions
            cases = (
                ((1, 10, 5, 2), (5, 10, 5, 2))
                if quick
                else ((1, 10, 5, 4), (5, 10, 5, 4), (1, 100, 1, 2), (1, 10, 1, 6))
            )
            found[part] = [evaluation(A, data, *case) for case in cases]
        else:
            found[part] = memory(A, data)
        found["load"][part] = [round(before, 2), round(os.getloadavg()[0], 2)]
    return found


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("FLOCKWISE_DATA"), help="where MNIST lies"
    )
    parser.add_argument("--quick", action="store_true", help="few rounds")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--pfl-python", type=Path, default=os.environ.get("PFL_PYTHON", sys.executable))
    parser.add_argument("--only", default=",".join(PARTS), help="comma-separated parts")
    options = parser.parse_args()
    if options.data is None:
        parser.error("--data (or FLOCKWISE_DATA): where MNIST lies")
    if unknown := set(options.only.split(",")) - set(PARTS):
        parser.error(f"--only {', '.join(sorted(unknown))}: must be of {', '.join(PARTS)}")
    versions = versions_of(sys.executable, "torch", "numpy") or {}
    pfl = versions_of(options.pfl_python, "pfl", "torch")
    flower = versions_of(sys.executable, "flwr", "ray")
    if not pfl:
        print(f"left out: pfl-research: not in {options.pfl_python}; see the top of this file")
    elif pfl["torch"].partition("+")[0] != versions["torch"].partition("+")[0]:
        print(f"left out: pfl-research: has torch {pfl['torch']}, not {versions['torch']}")
        pfl = None
    if not flower:
        print("left out: Flower: flwr or ray is not installed")
    about = {
        "command": "python benchmarks/performance/engine.py --data DIR" + (" --quick" if options.quick else ""),
        "date": time.strftime("%Y-%m-%d"), "cores": available_cores(), "cpu": cpu(),
        "versions": {**versions, **(flower or {}), **(pfl or {})},
        **measured(options.only.split(","), options.data, options.pfl_python if pfl else None, options.quick),
    }  # fmt: skip
    print(f"\n{costs_table(about)}\n\n{targets_table(about)}\n\nload of the machine: {about['load']}")
    if options.json:
        options.json.write_text(json.dumps(_joined(options.json, about), indent=1) + "\n")


def _joined(file: Path, about: dict[str, Any]) -> dict[str, Any]:
    """With the parts that an earlier run on the same processor measured and this one did not."""
    before = json.loads(file.read_text()) if file.exists() else {}
    if before.get("cpu") != about["cpu"] or set(about["load"]) == set(PARTS):
        return about
    joined = {**before, **about}
    for name in ("results", "load", "left_out"):
        joined[name] = {**before.get(name, {}), **about[name]}
    joined["results"] = {part: joined["results"][part] for part in PARTS if part in joined["results"]}
    return joined


if __name__ == "__main__":
    main()
