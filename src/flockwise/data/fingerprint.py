"""A short digest of what each client holds, to tell whether a run is given the same data again."""

import hashlib
from typing import Any

import numpy as np

from flockwise.data.federation import PARTS, Federation

MARKS = "data_digests"  # under which name they are in a run's environment.json, which is sealed with the run


def fingerprints(federation: Federation) -> list[str]:
    """16 hexadecimal digits a client, over its samples in order, its labels, and how it sees them.

    Every sample is read once, which takes about a second for a gigabyte; training reads it many times.
    """
    return [_fingerprint(federation, client) for client in range(federation.clients)]


def fingerprint_of_all(federation: Federation, some: int = 1000) -> str:
    """One digest where many clients share samples: the whole data set, who holds how much, and `some` clients' data."""
    found = hashlib.blake2b(digest_size=8)
    _add(found, federation.dataset.x)
    _add(found, federation.dataset.y)
    for part in PARTS:
        _add(found, federation.sizes(part))
    for client in np.linspace(0, federation.clients - 1, min(some, federation.clients)).astype(int).tolist():
        found.update(_fingerprint(federation, client).encode())
    return found.hexdigest()


def _fingerprint(federation: Federation, client: int) -> str:
    shard = federation.shards[client]
    found = hashlib.blake2b(repr((shard.relabel, shard.turns % 4)).encode(), digest_size=8)
    for part in PARTS:
        indices = federation.indices(client, part)
        found.update(f"{part} {len(indices)} ".encode())
        if len(indices):
            for values in (federation.dataset.x[indices], federation.dataset.y[indices]):
                _add(found, np.asarray(values))
    return found.hexdigest()


def _add(found: Any, values: np.ndarray) -> None:
    """Add an array with its kind and shape, so that no two arrays read alike."""
    found.update(f"{values.dtype.str} {values.shape} ".encode())
    if values.dtype.hasobject:  # its bytes would be addresses
        for value in values.ravel():
            _add(
                found,
                np.asarray(value) if not isinstance(value, str) else np.frombuffer(value.encode(), "u1"),
            )
    else:
        found.update(np.ascontiguousarray(values).view(np.uint8).data)
