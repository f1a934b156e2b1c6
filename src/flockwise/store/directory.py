"""Run directories: made, opened again to go on, and accepted as they are."""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomli_w

from flockwise.errors import RunError
from flockwise.messages import Event
from flockwise.store import files
from flockwise.store.damage import DIGESTS, file_digest, find_damage, refuse_damage
from flockwise.store.policy import CheckpointPolicy
from flockwise.store.reader import Run
from flockwise.store.schema import FORMAT
from flockwise.store.writer import RunWriter


def create_run(
    path: Path, config: Mapping[str, Any], environment: Mapping[str, Any], policy: CheckpointPolicy
) -> RunWriter:
    """Start a new run directory; one that already holds a run is refused."""

    def check() -> None:
        if (path / "config.toml").exists():
            raise RunError(
                f"{path}: already holds a run; choose another directory, or `flockwise resume {path}`"
            )

    check()
    _make_folders(path)
    content = {
        "config.toml": tomli_w.dumps(_without_none(config)).encode(),
        "environment.json": json.dumps(environment, indent=2).encode(),
    }
    writer = RunWriter(path, policy, check)  # from here on it is ours alone
    try:
        files.write_private(path / "environment.json", content["environment.json"])
        writer.start()
        writer.about(
            format=str(FORMAT), created=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), state="running",
            **{key: files.digest(content[name]) for name, key in DIGESTS.items()},
        )  # fmt: skip
        # The config comes last: a directory without one holds no run, however far somebody got with it.
        files.write_private(path / "config.toml", content["config.toml"])
    except BaseException:
        writer.close()
        raise
    return writer


def reopen_run(path: Path, policy: CheckpointPolicy) -> RunWriter:
    """Open an existing run directory to go on writing it; one that is damaged is refused, and stays as it is."""
    if not (path / "config.toml").exists():
        raise RunError(f"{path}: no run here (no config.toml)")
    writer = RunWriter(path, policy, lambda: refuse_damage(path))
    try:
        _make_folders(path)
        for left in [*path.glob(".*.tmp"), *(path / "checkpoints").glob(".*.tmp")]:
            left.unlink(missing_ok=True)
        if not writer.is_sealed:
            writer.seal_anew(**_file_digests(path))
        writer.about(format=str(FORMAT), state="running", error="")
    except BaseException:
        writer.close()
        raise
    return writer


def accept(path: str | Path) -> list[str]:
    """Take a damaged run for right as it is; what was damaged is told, and goes on record."""
    path = Path(path)
    found: list[str] = []
    newest = max(Run(path).rounds.tolist(), default=0)
    with RunWriter(path, CheckpointPolicy(), lambda: found.extend(find_damage(path))) as writer:
        writer.seal_anew(**_file_digests(path))
        writer.events(newest, [Event("damaged", f"accepted as it is: {line}") for line in found])
    if left := find_damage(path):
        raise RunError(f"{path}/{left[0]}; this cannot be accepted, only put back")
    return found


def _file_digests(path: Path) -> dict[str, str]:
    try:
        return {key: file_digest(path / name) for name, key in DIGESTS.items()}
    except OSError as error:
        raise RunError(
            f"{path}: config.toml or environment.json cannot be read: {error.strerror or error}"
        ) from error


def _make_folders(path: Path) -> None:
    try:
        files.make_private(path)
        files.make_private(path / "checkpoints")
    except OSError as error:
        raise RunError(f"{path}: cannot be made a run directory: {error.strerror}") from error


def _without_none(value: Any) -> Any:
    """TOML has no null: a field that is not set is left out, and is its default when read back."""
    if isinstance(value, Mapping):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_without_none(item) for item in value]
    return value
