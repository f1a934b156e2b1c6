"""Seeded generators: one for each purpose, round and client, so nothing of a generator needs saving."""

import hashlib

import numpy as np
from numpy.random.bit_generator import ISeedSequence


class _Key(ISeedSequence):
    """Hands a key to Philox as it is: `Philox(key=...)` gives the same numbers, but first asks the system for
    entropy that it then does not use, which costs more than shuffling a small client's samples.
    """

    def __init__(self, key: np.ndarray) -> None:
        self._key = key

    def generate_state(self, n_words: int, dtype: object = np.uint32) -> np.ndarray:
        return self._key


def generator(seed: int, purpose: str, *keys: int) -> np.random.Generator:
    """The generator of one purpose, for example `generator(7, "sampling", round)`.

    The same arguments give the same stream in every process; streams of other purposes, rounds or
    clients are independent of it.
    """
    return np.random.Generator(np.random.Philox(_Key(_key(seed, purpose, keys))))  # type: ignore[arg-type]


def derived_seed(seed: int, purpose: str, *keys: int) -> int:
    """A 63-bit seed for libraries that take a number instead of a generator."""
    return int(_key(seed, purpose, keys)[0] >> np.uint64(1))


def _key(seed: int, purpose: str, keys: tuple[int, ...]) -> np.ndarray:
    text = "/".join([str(int(seed)), purpose, *[str(int(key)) for key in keys]])
    return np.frombuffer(hashlib.sha256(text.encode()).digest()[:16], dtype=np.uint64)
