"""Checkpoints: the server's state as one safetensors file, known by its digest."""

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from flockwise.errors import RunError
from flockwise.stages.state import State
from flockwise.store.files import new_digest, opened_verified, told_parts, write_private
from flockwise.store.tensors import arrays_in, parts_of


def checkpoint_name(round: int) -> str:
    """The file of a round's checkpoint."""
    return f"round-{round:06d}.safetensors"


def write_checkpoint(folder: Path, round: int, arrays: Mapping[str, np.ndarray]) -> tuple[str, str]:
    """Write the state after a round; the file's name and digest go into the database."""
    mark = new_digest()
    write_private(folder / checkpoint_name(round), told_parts(parts_of(arrays), mark))
    return checkpoint_name(round), mark.hexdigest()


def checkpoint_path(folder: Path, name: object) -> Path:
    """Where a checkpoint on record lies; names from a database that is not ours lead nowhere else."""
    if not isinstance(name, str) or not re.fullmatch(r"round-[0-9]{6,12}\.safetensors", name):
        raise RunError(f"{folder}: {str(name)[:60]!r} is not the name of a checkpoint")
    return folder / name


def read_checkpoint(path: Path, expected: object) -> dict[str, np.ndarray]:
    """Read a state back; a file that is not byte for byte what was written is refused."""
    try:
        with opened_verified(path, expected) as found:
            if found is None:
                raise RunError(f"{path}: damaged, its digest is not the one on record")
            return arrays_in(*found)
    except OSError as error:
        raise RunError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (ValueError, TypeError, KeyError, IndexError, OverflowError, MemoryError, RecursionError) as error:
        raise RunError(f"{path}: not a checkpoint: {error}") from error


def state_of(arrays: Mapping[str, np.ndarray], path: Path) -> State:
    """The server's state in a checkpoint of the run at `path`; what is no state is refused in a line."""
    wanted = {"round": ("iu", 1), "models": ("f", 2), "labels": ("i", 1), "apart": ("i", 1)}
    for name, (kind, dimensions) in wanted.items():
        if name not in arrays:
            raise RunError(f"{path}: the checkpoint lacks {name!r}: not a checkpoint of a run")
        array = arrays[name]
        if array.dtype.kind not in kind or array.ndim != dimensions or not array.size:
            raise RunError(
                f"{path}: the checkpoint's {name!r} is {array.dtype} {array.shape}: not a server's state"
            )
    if len(arrays["labels"]) != len(arrays["apart"]):
        raise RunError(
            f"{path}: the checkpoint is of {len(arrays['labels'])} and of {len(arrays['apart'])} clients"
        )
    return State.from_arrays(arrays)
