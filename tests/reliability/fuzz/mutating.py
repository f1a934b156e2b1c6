"""Inputs by seeded mutation of good ones: bits, bytes, numbers, pieces doubled, moved, cut and joined."""

from collections.abc import Iterator, Sequence

import numpy as np

from flockwise.rng import generator

LONGEST = 1 << 16
TELLING = (0, 1, 2, 4, 7, 8, 15, 16, 31, 32, 63, 64, 100, 127, 128, 255)
WIDE = (0, 1, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 0x7FFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF)
WORDS = (
    b"", b"\0", b"\n", b"\r\n", b'"', b"'", b"[", b"]", b"{", b"}", b"=", b",", b".", b"-", b"nan", b"inf", b"-1", b"1e400",
    b"0x", b"null", b"true", b"[[", b"\xff\xfe", b"\xed\xa0\x80", b"../", b"%2e%2e%2f", b"\xc2\xb2", b"9" * 30, b"[" * 2000,
)  # fmt: skip


def mutated(seeds: Sequence[bytes], number: int, seed: int = 0) -> Iterator[bytes]:
    """The seeds themselves, then so many inputs made from them."""
    yield from seeds[:number]
    random = generator(seed, "fuzz")
    for _ in range(number - len(seeds)):
        data = bytearray(seeds[int(random.integers(len(seeds)))])
        for _ in range(1 + int(random.geometric(0.5))):
            _change(data, random, seeds)
        yield bytes(data[:LONGEST])


def _change(data: bytearray, random: np.random.Generator, seeds: Sequence[bytes]) -> None:
    at = int(random.integers(len(data) + 1))
    to = min(len(data), at + int(random.geometric(0.1)))
    kind = int(random.integers(10))
    if kind == 0 and at < len(data):
        data[at] ^= 1 << int(random.integers(8))
    elif kind == 1 and at < len(data):
        data[at] = int(random.choice(TELLING))
    elif kind == 2 and at < len(data):
        data[at] = int(random.integers(256))
    elif kind == 3:
        width = int(random.choice((2, 4, 8)))
        value = int(WIDE[int(random.integers(len(WIDE)))]) & ((1 << (8 * width)) - 1)
        data[at : at + width] = value.to_bytes(width, "big" if random.random() < 0.5 else "little")
    elif kind == 4:
        del data[at:to]
    elif kind == 5:
        data[at:at] = data[at:to] * int(random.integers(1, 5))
    elif kind == 6:
        data[at:at] = WORDS[int(random.integers(len(WORDS)))]
    elif kind == 7:
        data[at:to] = WORDS[int(random.integers(len(WORDS)))]
    elif kind == 8:
        del data[at:]
    else:
        other = seeds[int(random.integers(len(seeds)))]
        data[at:] = other[int(random.integers(len(other) + 1)) :]
