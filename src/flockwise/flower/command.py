"""Flower's own programs, started so that nothing leaves this machine that need not."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from flockwise.errors import EngineError

QUIET = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
}

# What Flower's commands answer with `--format json`, as far as we read it.
RUN, RUNS, STATUS, DETAILS, NODES, SUCCESS, ERROR = (
    "run-id", "runs", "status", "status-details", "nodes", "success", "error-message",
)  # fmt: skip


PLAIN_TEXT = (
    "WARNING: no TLS: models, updates and keys travel in plain text, and anybody on the way can read and change them; "
    "give the SuperLink certificates, see docs/flower.md, Production"
)


_UNREACHABLE = "Connection to the SuperLink is unavailable"  # how Flower says so


class Unreachable(EngineError):
    """The SuperLink did not answer; it may be starting again."""


def program(name: str) -> str:
    """The path of one of Flower's programs, beside this Python first."""
    beside = Path(sys.executable).with_name(name)
    return str(beside) if beside.exists() else name


def environment(home: Path | None = None) -> dict[str, str]:
    """This environment, with Flower's telemetry, update check and package installation switched off."""
    own = {"FLWR_HOME": str(home)} if home else {}
    # Flower starts its other programs by name.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return {**os.environ, **QUIET, **own, "PATH": path}


def is_insecure(superlink: str, home: Path | None = None) -> bool:
    """Whether Flower's own config says that a SuperLink is to be spoken to in plain text."""
    folder = home or Path(os.environ.get("FLWR_HOME") or Path.home() / ".flwr")
    try:
        known = tomllib.loads((folder / "config.toml").read_text(encoding="utf-8")).get("superlink", {})
    except (OSError, ValueError):  # Flower itself will say what is wrong with it
        return False
    chosen = known.get(superlink)
    return isinstance(chosen, dict) and chosen.get("insecure") is True


def flwr(*words: str, home: Path | None = None, timeout: float = 120.0) -> dict[str, Any]:
    """Run a `flwr` command and read the JSON it answers with."""
    command = [program("flwr"), *words, "--format", "json"]
    try:
        done = subprocess.run(
            command, env=environment(home), capture_output=True, text=True, timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise Unreachable(f"flwr {words[0]}: no answer within {timeout:g} s") from error
    except OSError as error:
        raise EngineError(f"flwr {words[0]}: {error}") from error
    kind = Unreachable if _UNREACHABLE in done.stdout + done.stderr else EngineError
    start = done.stdout.find("{")
    try:
        answer: dict[str, Any] = json.loads(done.stdout[start:])
    except ValueError as error:
        told = (done.stderr or done.stdout).strip()[-300:]
        raise kind(f"flwr {words[0]} gave no answer: {told or f'exit code {done.returncode}'}") from error
    if answer.get(SUCCESS) is False:
        raise kind(f"flwr {words[0]}: {str(answer.get(ERROR) or answer)[:300]}")
    return answer
