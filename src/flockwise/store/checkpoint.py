"""Checkpoints: the server's state as one safetensors file, known by its digest."""

import re
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from flockwise.errors import RunError
from flockwise.store.files import digest, write_atomically


def write_checkpoint(folder: Path, round: int, arrays: dict[str, np.ndarray]) -> tuple[str, str]:
    """Write the state after a round; the file's name and digest go into the database."""
    name = f"round-{round:06d}.safetensors"
    content = save({key: np.ascontiguousarray(array) for key, array in arrays.items()})
    write_atomically(folder / name, content)
    return name, digest(content)


def checkpoint_path(folder: Path, name: object) -> Path:
    """Where a checkpoint on record lies; names from a database that is not ours lead nowhere else."""
    if not isinstance(name, str) or not re.fullmatch(r"round-\d{6,12}\.safetensors", name):
        raise RunError(f"{folder}: {str(name)[:60]!r} is not the name of a checkpoint")
    return folder / name


def read_checkpoint(path: Path, expected: str) -> dict[str, np.ndarray]:
    """Read a state back; a file that is not byte for byte what was written is refused."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise RunError(f"{path}: cannot be read: {error.strerror}") from error
    if digest(content) != expected:
        raise RunError(f"{path}: damaged, its digest is not the one on record")
    try:
        return {key: np.array(array) for key, array in load(content).items()}
    except SafetensorError as error:
        raise RunError(f"{path}: not a checkpoint: {error}") from error
