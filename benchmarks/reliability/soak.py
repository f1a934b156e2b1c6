"""A long run, looked at every so often: `python benchmarks/reliability/soak.py [--rounds 10000]`.

Memory may grow by no more than 1 MB in 1,000 rounds (a line through all looks after the first tenth), and the number of open
files not at all. Written to results/ when it is over.
"""

import argparse
import json
import os
import re
import tempfile
import time
from pathlib import Path

import numpy as np

import flockwise
from flockwise.studies.surroundings import surroundings

LOOKS = 20
CONFIG = {
    "seed": 1, "data": {"name": "digits"}, "split": {"name": "label_swap", "clients": 10, "groups": 2},
    "model": {"name": "softmax"}, "training": {"epochs": 1, "batch_size": 64}, "strategy": {"name": "flic", "warmup": 4},
    "faults": {"dropout": 0.1}, "engine": {"workers": 1},
}  # fmt: skip


def resident() -> float:
    """Megabytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def main() -> int:
    """Run and look; 1 if it grew."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=10_000)
    rounds = parser.parse_args().rounds
    looks: list[dict[str, float]] = []
    began = time.process_time()

    def look(progress: flockwise.Progress) -> None:
        if progress.round % max(rounds // LOOKS, 1) == 0:
            looks.append(
                {
                    "round": progress.round,
                    "mb": round(resident(), 2),
                    "files": len(os.listdir("/proc/self/fd")),
                }
            )
            print(looks[-1], flush=True)

    with tempfile.TemporaryDirectory() as folder:
        found = flockwise.run({**CONFIG, "rounds": rounds}, out=Path(folder) / "run", on_round=look)
        size = sum(path.stat().st_size for path in found.path.rglob("*") if path.is_file())
    settled = [each for each in looks if each["round"] > rounds / 10]
    slope = float(
        np.polyfit([each["round"] / 1000 for each in settled], [each["mb"] for each in settled], 1)[0]
    )
    same = len({each["files"] for each in looks}) == 1
    made = surroundings(1)
    content = {
        "rounds": rounds, "state": found.state, "mb_in_1000_rounds": round(slope, 3), "files_constant": same, "looks": looks,
        "held": slope < 1.0 and same and found.state == "finished", "directory_mb": round(size / 1e6, 1),
        "cpu_seconds": round(time.process_time() - began, 1),
        "command": f"python benchmarks/reliability/soak.py --rounds {rounds}", **made,
    }  # fmt: skip
    name = f"soak-{re.sub('[^0-9TZ]', '', made['date'])}.json"
    (Path(__file__).parent / "results" / name).write_text(json.dumps(content, indent=1) + "\n")
    print(f"{slope:.3f} MB in 1,000 rounds, open files constant: {same}")
    return int(not content["held"])


if __name__ == "__main__":
    raise SystemExit(main())
