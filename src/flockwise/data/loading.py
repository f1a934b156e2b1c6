"""Opens data sets by name, and tells which ones are here."""

import os
from dataclasses import dataclass
from pathlib import Path

from flockwise.data.cache import default_cache, is_cached, open_cached, write_cached
from flockwise.data.dataset import Dataset
from flockwise.data.decoders import Arrays
from flockwise.data.embedded import load_digits
from flockwise.data.folder import Folder, archives
from flockwise.data.registry import DATASETS, find_spec
from flockwise.data.spec import Spec
from flockwise.data.verify import assemble, decode_verified, verify
from flockwise.errors import DataError


@dataclass(frozen=True)
class Available:
    """One line of the list of data sets."""

    name: str
    summary: str
    where: str | None  # "embedded", a folder, or None where it must be fetched first
    samples: int
    classes: int
    shape: tuple[int, ...]
    licence: str


def load(name: str, directory: str | Path | None = None, cache: str | Path | None = None) -> Dataset:
    """The data set of this name: from `directory`, else from the cache (by default the user's).

    What is decoded from a directory is verified and put into the cache. Later calls open the cached
    arrays without decoding again, since both are known to be the published data. Where the cache cannot
    be written the arrays stay in memory.
    """
    spec = find_spec(name)
    if spec.name == "digits":
        dataset = load_digits()
        verify(spec, {"x": dataset.x, "y": dataset.y}, "scikit-learn")
        return dataset
    store = Path(cache) if cache is not None else default_cache()
    source = _folder(spec, directory)
    if source is None:
        if is_cached(spec, store):
            return assemble(spec, open_cached(spec, store))
        searched = " and ".join([*([str(Path(directory) / spec.name)] if directory else []), str(store)])
        here = spec.downloads or spec.packages
        fix = f"run flockwise data get {spec.name}" if here else "see flockwise data list"
        raise DataError(
            f"data set {spec.name}: not found in {searched}; {fix} or give its folder with --data"
        )
    cached = _usable(spec, store)
    if cached is not None and not _adds_arrays(spec, source, cached):
        return assemble(spec, cached)
    arrays = decode_verified(spec, Folder(source, spec.wanted))
    try:
        write_cached(spec, store, arrays)
        arrays = open_cached(spec, store)
    except OSError:
        pass  # a cache that is full or read-only costs time at the next start, nothing else
    return assemble(spec, arrays)


def folder_of_sets(said: str | Path | None) -> Path | None:
    """Where data sets lie: the folder that was said, else the one that FLOCKWISE_DATA names for all runs."""
    where = said or os.environ.get("FLOCKWISE_DATA")
    return Path(where) if where else None


def available(directory: str | Path | None = None, cache: str | Path | None = None) -> list[Available]:
    """Every data set and where it would come from; looks at names only, opens no data."""
    store = Path(cache) if cache is not None else default_cache()
    return [
        Available(
            spec.name,
            spec.summary,
            _where(spec, directory, store),
            spec.samples,
            spec.classes,
            spec.shape,
            spec.licence,
        )
        for spec in DATASETS.values()
    ]


def _where(spec: Spec, directory: str | Path | None, store: Path) -> str | None:
    if not spec.layouts:
        return "embedded"
    source = _folder(spec, directory)
    if source is not None:
        return str(source)
    return str(store / spec.name) if is_cached(spec, store) else None


def _folder(spec: Spec, directory: str | Path | None) -> Path | None:
    """The folder that holds some file of this data set, or None."""
    if directory is None:
        return None
    if not Path(directory).is_dir():
        raise DataError(f"data directory {directory}: no such directory; correct --data or FLOCKWISE_DATA")
    folder = Path(directory) / spec.name
    here = any((folder / name).is_file() for name in spec.wanted) or archives(folder)
    return folder if here else None


def _usable(spec: Spec, store: Path) -> Arrays | None:
    if not is_cached(spec, store):
        return None
    try:
        return open_cached(spec, store)
    except DataError:
        return None  # the directory can replace it


def _adds_arrays(spec: Spec, source: Path, cached: Arrays) -> bool:
    """Whether the folder has extra files, such as the writers of MNIST, that the cache was made without."""
    missing = spec.optional - cached.keys()
    return bool(missing) and any((source / name).is_file() for name in spec.extra)
