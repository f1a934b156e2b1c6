"""The mutation score of the kernels and the gate: `python benchmarks/reliability/mutate.py [gate] [order ...]`.

Of the C++ kernels ("kernels, C++" and "graphs, C++") each mutant is compiled; a change that the compiler refuses is none.
Every mutant (see mutants.py) is put into a forked process that has all tests loaded, and the tests run until one fails. What
no test notices has survived: a test is missing, or the change changes nothing that can be seen, and then it stands
in equivalent.toml with the reason. Mutants are tried in a seeded random order; what was tried is kept when it is done,
and goes on from there. Property tests try a fifth of their examples, so the score is a lower bound.
"""

import argparse
import hashlib
import json
import os
import re
import resource
import signal
import sys
import time
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from grafting import graft
from mutants import Mutant, mutants
from native_mutants import NativeMutant, NoProgram, native_mutants

from flockwise.rng import generator
from flockwise.studies.surroundings import surroundings

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
KEPT = ROOT / "build" / "mutation"
SOURCES = ROOT / "src" / "flockwise"
RULES, KERNELS = "tests/aggregation/test_", "tests/kernels/test_"
COMPILED, PAIRS = f"{KERNELS}compiled_kernels.py", "tests/similarity/test_pairwise.py"
# The tests that hold each file; others may notice a mutant too, so the score is a lower bound for this reason as well.
TESTS = {
    "gate": [f"tests/server/test_{name}.py" for name in ("gate_edges", "gate", "reports", "who_sent_it")],
    "checks": [f"{KERNELS}checks.py", f"{RULES}rule.py"],
    "order": [f"{KERNELS}order.py"],
    "network": [f"{KERNELS}network.py"],
    "closest": [f"{KERNELS}closest.py"],
    "columns": [f"{KERNELS}columns.py", f"{RULES}coordinatewise.py", f"{KERNELS}closest.py"],
    "combine": [f"{KERNELS}combine.py", f"{RULES}mean_rule.py"],
    "gram": [f"{KERNELS}gram.py", f"{KERNELS}combine.py", PAIRS, f"{RULES}krum_family.py", COMPILED],
    "absolute": [PAIRS, COMPILED],
    "parallel": [f"{KERNELS}parallel.py"],
    "calls": [COMPILED, f"{KERNELS}fold.py", PAIRS],
    "loading": [f"{KERNELS}kernel_loading.py", COMPILED],
    "fold": [f"{KERNELS}fold.py"],
    "stored": [f"{KERNELS}stored.py"],
    "kernels, C++": [COMPILED, f"{KERNELS}fold.py", PAIRS],
    "graphs, C++": ["tests/clustering/test_native_communities.py", "tests/clustering/test_crowd.py"],
}
NATIVE = {"kernels, C++": "kernels/native/kernels.cpp", "graphs, C++": "clustering/native/graphs.cpp"}
FEWER = 5  # times fewer examples
QUICKLY = ("-O1", "-w")  # a third of the time that the library itself takes to be compiled


def sources() -> dict[str, tuple[Path, list[str]]]:
    """Each file by its name, with the tests that hold it."""
    files = {path.stem: path for path in (SOURCES / "kernels").rglob("*.py")} | {
        "gate": SOURCES / "server" / "gate.py",
        **{name: SOURCES / path for name, path in NATIVE.items()},
    }
    return {name: (files[name], tests) for name, tests in TESTS.items()}


class Trying:
    """A plug-in for pytest that runs the tests on one mutant after the other."""

    unchanged: Any = None  # what is put in place where nothing is changed

    def __init__(self, path: Path, most: int, seconds: float) -> None:
        """The mutants of this file, so many at most, for as long as this."""
        self.path, self.most, self.until = path, most, time.monotonic() + seconds
        self.costs: dict[str, float] = {}  # seconds of the processor that each test takes
        source = path.read_text()
        self.all: list[Any] = list(mutants(source)) if path.suffix == ".py" else []
        self.kept = KEPT / f"{path.stem}-{hashlib.sha256(source.encode()).hexdigest()[:12]}.jsonl"

    def graft(self, mutant: Any) -> None:
        """Put a mutant in the place of what was imported."""
        graft(sys.modules[".".join(self.path.relative_to(SOURCES.parent).with_suffix("").parts)], mutant.tree)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Fewer examples, the same every time."""
        from hypothesis import settings

        for item in items:
            function = getattr(item, "obj", None)
            if getattr(function, "is_hypothesis_test", False):
                usual = getattr(function, "_hypothesis_internal_use_settings", None) or settings()
                function._hypothesis_internal_use_settings = settings(
                    usual,
                    max_examples=max(usual.max_examples // FEWER, 5),
                    deadline=None,
                    database=None,
                    derandomize=True,
                )

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """In place of the tests: every mutant, each in a process of its own."""
        items = list(session.items)
        with suppress(ModuleNotFoundError):
            import torch  # noqa: F401 - once for all, not in the process of each mutant
        clean, costs = self._forked(items, None, 0)
        if clean != "survived":
            raise SystemExit(f"{self.path}: the tests fail without any mutant: {costs}")
        items.sort(key=lambda item: costs.get(item.nodeid, 0.0))  # what is quick first
        self.costs = costs
        limit = 5 + int(5 * sum(costs.values()))  # seconds of the processor; what takes longer hangs
        done = read_kept(self.kept)
        order = generator(0, f"mutants of {self.path.stem}").permutation(len(self.all)).tolist()
        KEPT.mkdir(parents=True, exist_ok=True)
        # What survived is tried again: there may be a test for it by now.
        for number in [
            n for n in order[: self.most] if done.get(n, {}).get("fate") not in ("killed", "no program")
        ]:
            if time.monotonic() > self.until:
                break
            fate, by = self._forked(items, self.all[number], limit)
            with self.kept.open("a") as file:
                file.write(json.dumps({"mutant": number, "fate": fate, "by": by}) + "\n")
        return True

    def _forked(
        self, items: list[pytest.Item], mutant: Mutant | NativeMutant | None, limit: int
    ) -> tuple[str, Any]:
        """What becomes of a mutant, and which test noticed; without one, what each test costs."""
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.dup2(os.open(os.devnull, os.O_RDWR), 1)
            os.dup2(1, 2)
            if limit:
                resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
                signal.alarm(40 * limit)
            os.write(writer, json.dumps(self._tried(items, mutant)).encode())
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            told = pipe.read()
        _, status = os.waitpid(child, 0)
        if not told:
            return "killed", f"ended by signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else "ended"
        fate, by = json.loads(told)
        return fate, by

    def _tried(self, items: list[pytest.Item], mutant: Mutant | NativeMutant | None) -> tuple[str, Any]:
        costs = {}
        changed = mutant or self.unchanged
        if changed is not None:
            try:
                self.graft(changed)
            except NoProgram:
                return "no program", ""
            except BaseException as error:
                return "killed", f"cannot be imported: {type(error).__name__}"
        for place, item in enumerate(items):
            began = time.process_time()
            if mutant is not None:  # so does a test that takes five times as long
                signal.setitimer(signal.ITIMER_PROF, 2 + 5 * self.costs[item.nodeid])
            following = items[place + 1] if place + 1 < len(items) else None
            failed = [r for r in _reports(item, following) if r.failed]
            if failed:
                return ("killed" if mutant else "broken"), item.nodeid
            costs[item.nodeid] = time.process_time() - began
        return "survived", costs if mutant is None else ""


class TryingNative(Trying):
    """The same for the C++ of a folder: each mutant is compiled, and takes the place of the library."""

    def __init__(self, path: Path, most: int, seconds: float) -> None:
        """The mutants of all sources in the folder."""
        super().__init__(path, most, seconds)
        self.all = list(native_mutants(path.parent))
        self.unchanged = NativeMutant(path, 0, "", "")  # the tests must pass with how mutants are compiled
        sources = b"".join(each.read_bytes() for each in sorted(path.parent.glob("*.[hc]*")))
        self.kept = (
            KEPT / f"{path.parent.parent.name}-native-{hashlib.sha256(sources).hexdigest()[:12]}.jsonl"
        )

    def graft(self, mutant: NativeMutant) -> None:
        """Compile, and hand it out in place of the library."""
        library = mutant.compiled(self.path.stem, QUICKLY)
        if self.path.stem == "kernels":
            from flockwise.kernels.native import loading

            loading.declare(library)
            loading._kernels = lambda: (library, "")
        else:
            from flockwise.clustering import native

            native.load_library = lambda *_: (library, "")
            native._library.cache_clear()


def _reports(item: pytest.Item, following: pytest.Item | None) -> list[pytest.TestReport]:
    from _pytest.runner import runtestprotocol

    return runtestprotocol(item, log=False, nextitem=following)


def read_kept(path: Path) -> dict[int, dict[str, Any]]:
    """What was tried before of this very file."""
    lines = path.read_text().splitlines() if path.exists() else []
    return {found["mutant"]: found for found in map(json.loads, lines)}


def summary(name: str, trying: Trying) -> dict[str, Any]:
    """The score of a file: survivors that change nothing are named with the reason and do not count."""
    reasons = tomllib.loads((HERE / "equivalent.toml").read_text()).get(name, {})
    done = {
        number: found for number, found in read_kept(trying.kept).items() if found["fate"] != "no program"
    }
    alive = [trying.all[number] for number, found in sorted(done.items()) if found["fate"] == "survived"]
    same = {f"{m.line}: {m.name}": why for m in alive if (why := _reason(reasons, m))}
    missed = [f"{m.line}: {m.name}" for m in alive if not _reason(reasons, m)]
    return {"file": name, "mutants": len(trying.all), "tried": len(done), "killed": len(done) - len(alive),
            "equivalent": same, "survived": missed}  # fmt: skip


def _reason(reasons: dict[str, str], mutant: Mutant) -> str:
    """By the change alone, or with its line where the same change stands in several."""
    return reasons.get(f"{mutant.line}: {mutant.name}") or reasons.get(mutant.name, "")


def main() -> int:
    """Try mutants; 1 if the score is below what is promised."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", help="gate, or kernels such as order; default: all")
    parser.add_argument("--most", type=int, default=10**6, help="mutants of a file; a random choice of them")
    parser.add_argument("--seconds", type=float, default=1e9, help="for each file")
    chosen = parser.parse_args()
    known = sources()
    os.chdir(ROOT)
    found = []
    for name in chosen.files or known:
        path, tests = known[name]
        trying = (TryingNative if name in NATIVE else Trying)(path, chosen.most, chosen.seconds)
        child = os.fork()  # each file starts from tests that nothing has touched
        if child == 0:
            os._exit(
                int(
                    pytest.main(
                        [
                            "-q",
                            "-p",
                            "no:cacheprovider",
                            "-W",
                            "ignore::pytest.PytestAssertRewriteWarning",
                            *tests,
                        ],
                        plugins=[trying],
                    )
                )
            )
        os.waitpid(child, 0)
        found.append(summary(name, trying))
        print(
            f"{name}: {score([found[-1]])}",
            *(f"  survived {each}" for each in found[-1]["survived"]),
            sep="\n",
            flush=True,
        )
        _write(found[-1])
    return int(any(each["survived"] for each in found))


def _write(found: dict[str, Any]) -> None:
    """A result for each file, when it is done: a stop loses one at most."""
    made = surroundings(1)
    content = {
        "score": score([found]), "files": [found], "command": f"python benchmarks/reliability/mutate.py {found['file']!r}",
        **made,
    }  # fmt: skip
    name = re.sub(r"\W+", "_", found["file"])
    target = HERE / "results" / f"mutants-{re.sub(r'[^0-9TZ]', '', made['date'])}-{name}.json"
    target.write_text(json.dumps(content, indent=1) + "\n")


def score(found: list[dict[str, Any]]) -> str:
    """How many of the mutants that change anything were noticed."""
    tried = sum(each["tried"] - len(each["equivalent"]) for each in found)
    killed = sum(each["killed"] for each in found)
    same = sum(len(each["equivalent"]) for each in found)
    return f"{killed} of {tried} noticed ({100 * killed / max(tried, 1):.1f} %), {same} change nothing"


if __name__ == "__main__":
    sys.exit(main())
