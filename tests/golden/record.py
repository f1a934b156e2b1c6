"""Record digests, once: `python -m tests.golden.record COMMIT FILE [WORD ...]`, for the scenarios that a word names.

A file of digests is never edited: where behaviour was changed on purpose, another file says since when and why
(`CHANGED` in test_same_bits.py).
"""

import json
import sys
import tempfile
from pathlib import Path

from safetensors.numpy import save_file

import flockwise
from flockwise.store import open_run
from tests.golden.digests import digests, machine
from tests.golden.scenarios import SCENARIOS

HERE = Path(__file__).parent


def main(commit: str, file: str, *words: str) -> None:
    """Run the scenarios and keep what they left."""
    target = HERE / file
    if target.exists():
        raise SystemExit(f"{target}: is there already, and is never edited")
    found, models = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, config) in enumerate(SCENARIOS.items()):
            if not words or any(word in name for word in words):
                path = Path(folder) / str(number)
                flockwise.run(config, out=path)
                found[name] = digests(path)
                models[name] = open_run(path).checkpoint()["models"]
    target.write_text(json.dumps({"commit": commit, "machine": machine(), "runs": found}, indent=1) + "\n")
    save_file(models, target.with_suffix(".safetensors"))


if __name__ == "__main__":
    main(*sys.argv[1:])
