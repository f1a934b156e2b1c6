"""Seeded generators: one for each purpose, round and client, so nothing of a generator needs saving."""

import hashlib

import numpy as np


def generator(seed: int, purpose: str, *keys: int) -> np.random.Generator:
    """The generator of one purpose, for example `generator(7, "sampling", round)`.

    The same arguments give the same stream in every process; streams of other purposes, rounds or
    clients are independent of it.
    """
    return np.random.Generator(np.random.Philox(key=_key(seed, purpose, keys)))


def derived_seed(seed: int, purpose: str, *keys: int) -> int:
    """A 63-bit seed for libraries that take a number instead of a generator."""
    return int(_key(seed, purpose, keys)[0] >> np.uint64(1))


def _key(seed: int, purpose: str, keys: tuple[int, ...]) -> np.ndarray:
    text = "/".join([str(int(seed)), purpose, *(str(int(key)) for key in keys)])
    return np.frombuffer(hashlib.sha256(text.encode()).digest()[:16], dtype=np.uint64)
