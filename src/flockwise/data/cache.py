"""Decoded data sets kept as .npy files that open as memory maps, so a second start reads almost nothing.

A data set is a folder with one .npy file per array and a `meta.json` that names the hash and the file
size of each. It is written under another name, flushed to the disk and renamed, so it is there whole or
not at all. Arrays are hashed before they are written. Opening trusts them if the recorded hashes are
those of the registry, the file sizes are those recorded and the .npy headers fit: that finds a truncated
or foreign file without reading 180 MB, but not a flipped bit on the disk (`check=True` finds that too).
"""

import contextlib
import json
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from flockwise.data.decoders import Arrays
from flockwise.data.formats import DAMAGED, why
from flockwise.data.spec import Spec
from flockwise.data.verify import verify
from flockwise.errors import DataError

VERSION = 1
TEMPORARY = ".flockwise-writing-"  # nothing else may be named so, for leftovers are deleted


def default_cache() -> Path:
    """The user's cache: $XDG_CACHE_HOME/flockwise, or ~/.cache/flockwise."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "flockwise"


def is_cached(spec: Spec, cache: Path) -> bool:
    """Whether something of this name is in the cache, whole or damaged."""
    return (cache / spec.name / "meta.json").is_file()


def open_cached(spec: Spec, cache: Path, check: bool = False) -> Arrays:
    """The cached arrays as read-only memory maps; DataError if they are not what they should be."""
    folder = cache / spec.name
    fix = f"delete {folder} and run flockwise data get {spec.name}"
    try:
        meta = json.loads((folder / "meta.json").read_text())
        if meta["version"] != VERSION:
            raise DataError(f"{folder}: cache of version {meta['version']}, not {VERSION}; {fix}")
        records: dict[str, dict[str, Any]] = meta["arrays"]
        for name in spec.sha256.keys() - spec.optional - records.keys():
            raise DataError(f"{folder}: {name} is missing; {fix}")
        arrays: Arrays = {}
        for name, record in records.items():
            path = folder / f"{name}.npy"
            if name not in spec.sha256 or record["sha256"] != spec.sha256[name]:
                raise DataError(f"{path}: its recorded hash is not that of {spec.name}; {fix}")
            if path.stat().st_size != record["bytes"]:
                raise DataError(f"{path}: has {path.stat().st_size:,} of {record['bytes']:,} bytes; {fix}")
            arrays[name] = np.load(path, mmap_mode="r", allow_pickle=False)
            _check_header(spec, name, arrays, f"{path}: {{}}; {fix}")
    except DAMAGED as problem:
        raise DataError(f"{folder}: damaged cache ({why(problem)}); {fix}") from problem
    if check:
        verify(spec, arrays, str(folder))
    return arrays


def write_cached(spec: Spec, cache: Path, arrays: Arrays) -> Path:
    """Put verified arrays into the cache and return their folder; what was there is replaced."""
    folder = cache / spec.name
    cache.mkdir(parents=True, exist_ok=True)
    _sweep(cache)
    temporary = Path(tempfile.mkdtemp(prefix=f"{TEMPORARY}{spec.name}-", dir=cache))
    try:
        records = {}
        for name, array in arrays.items():
            with (temporary / f"{name}.npy").open("wb") as stream:
                np.lib.format.write_array(stream, np.ascontiguousarray(array), allow_pickle=False)
                stream.flush()
                os.fsync(stream.fileno())
            size = (temporary / f"{name}.npy").stat().st_size
            records[name] = {"sha256": spec.sha256[name], "bytes": size}
        with (temporary / "meta.json").open("w") as text:
            json.dump({"version": VERSION, "name": spec.name, "arrays": records}, text, indent=1)
            text.flush()
            os.fsync(text.fileno())
        temporary.chmod(0o755)
        _replace(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return folder


def _sweep(cache: Path) -> None:
    """Remove what writers that were killed left behind: our temporary folders, when a day old."""
    for leftover in cache.glob(f"{TEMPORARY}*"):
        with contextlib.suppress(OSError):
            if time.time() - leftover.stat().st_mtime > 86_400:
                shutil.rmtree(leftover, ignore_errors=True)


def _check_header(spec: Spec, name: str, arrays: Arrays, message: str) -> None:
    kind = np.dtype(spec.kinds.get(name, "uint8" if name == "x" else "int64"))
    shape = (spec.samples, *spec.shape) if name == "x" else (spec.samples,)
    if arrays[name].dtype != kind or arrays[name].shape != shape:
        found = f"is {arrays[name].dtype} {arrays[name].shape}, not {kind} {shape}"
        raise DataError(message.format(found))


def _replace(temporary: Path, folder: Path) -> None:
    """Rename into place; a folder that is there steps aside first, for rename replaces only empty ones."""
    if folder.exists():
        aside = Path(tempfile.mkdtemp(prefix=f"{TEMPORARY}{folder.name}-old-", dir=folder.parent))
        os.replace(folder, aside)
        shutil.rmtree(aside, ignore_errors=True)
    try:
        os.replace(temporary, folder)
    except OSError:
        # Another process put its copy there in between; it holds the same verified content.
        if not (folder / "meta.json").is_file():
            raise
    handle = os.open(folder.parent, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
