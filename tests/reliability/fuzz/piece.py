"""One piece of fuzzing; both ways of it end the process when there were enough inputs or time is up."""

import hashlib
import json
import os
import re
import sys
import time
from pathlib import Path

from flockwise.studies.surroundings import surroundings
from tests.reliability.fuzz.mutating import mutated
from tests.reliability.fuzz.records import RESULTS
from tests.reliability.fuzz.target import Target
from tests.reliability.fuzz.trying import Trying, trying

KEPT = Path("build") / "fuzz"  # inputs that reached new code


def plain(target: Target, inputs: int, seconds: float) -> None:
    """Seeded mutations of good inputs."""
    began, seed = time.process_time(), int.from_bytes(os.urandom(4))
    with trying(target) as tried:
        for data in mutated(target.seeds(), inputs, seed):
            tried(data)
            if time.process_time() - began > seconds:
                break
        _write(tried, "mutations", began, seed)
    os._exit(0)


def guided(target: Target, inputs: int, seconds: float) -> None:
    """What reaches new code is changed further."""
    import atheris

    corpus = KEPT / re.sub(r"\W+", "_", target.name)
    corpus.mkdir(parents=True, exist_ok=True)
    for data in target.seeds():
        (corpus / hashlib.sha256(data).hexdigest()).write_bytes(data)
    began, seed = time.process_time(), int.from_bytes(os.urandom(4)) or 1
    with trying(target) as tried:

        def one(data: bytes) -> None:
            tried(data)
            if tried.inputs >= inputs or time.process_time() - began > seconds:
                _write(tried, "atheris", began, seed)
                os._exit(0)  # libFuzzer never returns

        bounds = ["-timeout=600", "-rss_limit_mb=4000", "-max_len=65536", "-verbosity=0"]
        atheris.Setup([sys.argv[0], str(corpus), f"-seed={seed}", *bounds], one)
        atheris.Fuzz()


def _write(tried: Trying, engine: str, began: float, seed: int) -> None:
    name, made = tried.target.name, surroundings(1)
    content = {
        "decoder": name, "engine": engine, "seed": seed, "inputs": tried.inputs, "broken": tried.broken,
        "findings": tried.findings, "seconds": round(time.process_time() - began, 1),
        "command": f"python -m tests.reliability.fuzz {name!r}", **made,
    }  # fmt: skip
    file = f"fuzz-{re.sub(r'[^a-zA-Z0-9]+', '_', name)}-{re.sub(r'[^0-9TZ]', '', made['date'])}.json"
    (RESULTS / file).write_text(json.dumps(content, indent=1) + "\n")
    print(f"{name}: {tried.inputs:,} inputs, {tried.broken} broke the promise ({content['seconds']} s)")
    for what, example in tried.findings.items():
        print(f"  {what}: {example['message']}\n    {example.get('input', '')[:200]}")
    sys.stdout.flush()
