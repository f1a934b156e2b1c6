"""Where and with what a result was made: commit, versions, processor, threads, date."""

import os
import platform
import subprocess
import time
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from flockwise import __version__
from flockwise.kernels.parallel import available_cores

_PACKAGES = ("numpy", "scipy", "scikit-learn", "torch")


def surroundings(workers: int) -> dict[str, Any]:
    """What a result made now says of its making."""
    commit, clean = _commit()
    return {
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "commit": commit, "clean": clean,
        "versions": _versions(),
        "machine": {**_processor(), "cores": available_cores(), "workers": workers},
    }  # fmt: skip


@cache
def _versions() -> dict[str, str]:
    found = {"flockwise": __version__, "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


@cache
def _processor() -> dict[str, str]:
    name = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
        name = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), name)
    return {"cpu": name, "architecture": platform.machine(), "system": platform.system()}


@cache
def _commit() -> tuple[str, bool | None]:
    """The commit of the code that runs, and whether its tree is as committed; unknown where it was installed."""
    here = Path(__file__).parent
    commit = _git(here, "rev-parse", "HEAD")
    tracked = commit and _git(here, "ls-files", "--error-unmatch", Path(__file__).name)
    if not commit or not tracked:  # installed below somebody else's repository, or from a wheel
        return f"release {__version__}", None
    return commit, _git(here, "status", "--porcelain", "--untracked-files=no", "--", str(here)) == ""


def _git(folder: Path, *words: str) -> str | None:
    try:
        told = subprocess.run(
            ["git", "-C", str(folder), *words], capture_output=True, text=True, timeout=10,
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return told.stdout.strip() if told.returncode == 0 else None
