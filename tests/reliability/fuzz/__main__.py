"""Fuzz decoders and keep the counts: `python -m tests.reliability.fuzz all --inputs 1000000`.

A piece of so many seconds is a process of its own and leaves a file with its counts; what was found worth trying is
kept in build/fuzz and tried first by the next piece. Results are never edited: each piece is another file.
"""

import argparse
import math
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.reliability.fuzz.records import RESULTS, pieces, tried_so_far

if TYPE_CHECKING:
    from tests.reliability.fuzz.target import Target


def main() -> int:
    """Try what is missing; 1 if anything broke its promise."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="decoders, or all")
    parser.add_argument("--inputs", type=int, default=1_000_000, help="of each, those on record included")
    parser.add_argument("--seconds", type=float, default=300, help="of the processor, for a piece")
    parser.add_argument("--plain", action="store_true", help="seeded mutations, without atheris")
    chosen = parser.parse_args()
    known = _loaded(chosen.plain)
    if not chosen.names:
        print("\n".join(known))
        return 0
    RESULTS.mkdir(parents=True, exist_ok=True)
    waiting, wrong = list(known) if chosen.names == ["all"] else list(chosen.names), False
    while waiting:
        name = soonest(waiting, chosen.inputs)
        left = chosen.inputs - tried_so_far().get(name, 0)
        broke = left > 0 and _piece(known[name], left, chosen.seconds, chosen.plain)
        wrong |= broke
        if broke or left <= 0:
            waiting.remove(name)
    return int(wrong)


def soonest(waiting: list[str], inputs: int) -> str:
    """The decoder that will be done first, by how quick its last piece was: slow ones keep no other from its inputs."""
    tried, quick = (
        tried_so_far(),
        {each["decoder"]: each["inputs"] / max(each["seconds"], 0.1) for each in pieces()},
    )
    return min(waiting, key=lambda name: (inputs - tried.get(name, 0)) / quick.get(name, math.inf))


def _loaded(plain: bool) -> dict[str, "Target"]:
    """The decoders; atheris must see our code being imported, for its coverage is what leads."""
    if plain:
        from tests.reliability.fuzz.target import all_targets

        return all_targets()
    import atheris

    with atheris.instrument_imports(include=["flockwise"]):
        from tests.reliability.fuzz.target import all_targets

        return all_targets()


def _piece(target: "Target", inputs: int, seconds: float, plain: bool) -> bool:
    """Whether a piece has found anything; it is a process of its own, for the fuzzer ends by ending the process."""
    from tests.reliability.fuzz import piece

    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        try:
            (piece.plain if plain else piece.guided)(target, inputs, seconds)
        finally:
            os._exit(3)
    _, status = os.waitpid(child, 0)
    if status:
        print(f"{target.name}: the process died ({os.waitstatus_to_exitcode(status)})", flush=True)
    return bool(status) or bool([each for each in pieces() if each["decoder"] == target.name][-1]["findings"])


if __name__ == "__main__":
    assert Path("tests").is_dir(), "run it from the root of the repository"
    sys.exit(main())
