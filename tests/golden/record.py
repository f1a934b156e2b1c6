"""Record the digests: `python -m tests.golden.record COMMIT` (bits.json and models.safetensors are never edited by hand)."""

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


def main(commit: str) -> None:
    """Run every scenario and keep what it left."""
    found, models = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, config) in enumerate(SCENARIOS.items()):
            path = Path(folder) / str(number)
            flockwise.run(config, out=path)
            found[name] = digests(path)
            models[name] = open_run(path).checkpoint()["models"]
            print(name, found[name]["models"], max(found[name]["labels"]) + 1, sum(found[name]["apart"]), flush=True)
    content = {"commit": commit, "machine": machine(), "runs": found}
    (HERE / "bits.json").write_text(json.dumps(content, indent=1) + "\n")
    save_file(models, HERE / "models.safetensors")


if __name__ == "__main__":
    main(sys.argv[1])
