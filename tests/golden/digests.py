"""What a run leaves behind as digests, and what the bits of this machine depend on."""

import hashlib
import json
import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import torch

from flockwise.stages.regroup import FOR_BEING_FEWER
from flockwise.store import Run, open_run


def digests(path: Path) -> dict[str, Any]:
    """The final models and labels, and every fact, array and event of every round; times are left out."""
    run = open_run(path)
    final = run.checkpoint()
    return {
        "models": _digest(final["models"]),
        "labels": final["labels"].tolist(),
        "apart": final["apart"].tolist(),
        "rounds": [_round(run, place, int(number)) for place, number in enumerate(run.rounds)],
    }


# Facts that later releases put on record beside those that were recorded.
LATER = ("accuracy_taking_part", "accuracy_worst_group", "bytes", "false_alarms", "missed")


def _round(run: Run, place: int, number: int) -> dict[str, str]:
    facts = {name: float(values[place]) for name, values in run.facts.items() if name not in LATER}
    names = ("accuracy", "test_loss", "flock", "apart", "trained", "loss", "similarity", "map", "dendrogram")
    arrays = {name: found for name in names if (found := run.array_at(name, number)) is not None}
    # What later releases say more in an event is left out, as their further facts are.
    told = [e for e in run.events if e.round == number]
    events = [[e.kind, e.message.removesuffix(FOR_BEING_FEWER), e.client, e.detail] for e in told]
    return {
        "facts": _text({name: value.hex() for name, value in facts.items() if value == value}),
        "arrays": _text({name: _digest(array) for name, array in arrays.items()}),
        "events": _text(events),
    }


def _digest(array: np.ndarray) -> str:
    head = f"{array.dtype.str}{array.shape}".encode()
    return hashlib.blake2b(head + np.ascontiguousarray(array).tobytes(), digest_size=8).hexdigest()


def _text(value: object) -> str:
    return hashlib.blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=8).hexdigest()


def machine() -> dict[str, Any]:
    """What may change the last bits of a result: the processor's vectors, the compiler, the libraries."""
    flags: set[str] = set()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        flags = set(next((line for line in lines if line.startswith("flags")), "").split())
    compiler = shutil.which("g++") or shutil.which("c++")
    told = (
        subprocess.run([compiler, "-dumpfullversion"], capture_output=True, text=True) if compiler else None
    )
    return {
        "vectors": sorted(flags & {"avx2", "fma", "avx512f", "avx512vnni"}),
        "compiler": told.stdout.strip() if told else "none",
        "torch": torch.__version__,
        "numpy": np.__version__,
        "system": platform.system(),
    }
