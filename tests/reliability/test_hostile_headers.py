"""Arrays whose headers lie: refused in a line, before any memory is taken for what they claim."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("flwr", reason="needs flockwise[flower]")

from flwr.app import Array

from flockwise.errors import InputError
from flockwise.flower.records import read_array
from flockwise.rng import generator
from tests.conftest import Cases

SHAPE = (500, 1000)
HONEST = 4 * SHAPE[0] * SHAPE[1]  # bytes of one honest update
NUMBERS = (-1, 0, 1, 2, 499, 500, 501, 1000, 10**6, 2**31, 2**32, 2**63, 2**64, 10**30)
KINDS = (
    "<f4", ">f4", "<f8", "<f2", "<c16", "<i8", "|O", "|S9999999", "<U9999999", "|V2147483647", "<m8", "f4,f4", "<f99",
    "|b1", "x",
)  # fmt: skip


def header(random: np.random.Generator) -> bytes:
    """The beginning of an .npy file of any shape, dtype, order, version and length that it claims to have."""
    count = int(random.integers(0, 5))
    shape = ", ".join(str(NUMBERS[int(i)]) for i in random.integers(len(NUMBERS), size=count))
    shape = f"({shape},)" if random.random() < 0.9 else ("(" * int(random.integers(1, 2000)))
    kind = KINDS[int(random.integers(len(KINDS)))]
    order = ("False", "True", "None", "9" * 5000)[int(random.choice(4, p=(0.5, 0.3, 0.1, 0.1)))]
    text = f"{{'descr': '{kind}', 'fortran_order': {order}, 'shape': {shape}, }}".encode()
    version = int(random.choice((1, 1, 2, 3, 9)))
    width = 2 if version == 1 else 4
    claimed = len(text) if random.random() < 0.8 else int(random.integers(2 ** (8 * width - 1)))
    length = min(claimed, 2 ** (8 * width) - 1).to_bytes(width, "little")
    return b"\x93NUMPY" + bytes([version, 0]) + length + text


def peak() -> int:
    """The most memory of this process since it was last asked to forget that, in bytes."""
    words = Path("/proc/self/status").read_text().split("VmHWM:")[1].split()
    return int(words[0]) * 1024


def test_a_header_that_lies_costs_no_memory(cases: Cases) -> None:
    random = generator(0, "headers")
    forget = Path("/proc/self/clear_refs")
    if not forget.exists():
        pytest.skip("needs Linux, where a process can ask for its own peak of memory")
    body = bytes(HONEST)
    forget.write_text("5")
    honest = Array(np.zeros(SHAPE, np.float32))
    read_array(Array("<f4", SHAPE, "numpy.ndarray", bytes(bytearray(honest.data))), SHAPE, "w")
    before = peak()  # with what an honest update takes
    taken = 0
    number_of = cases.many(500)
    for number in range(number_of):
        data = header(random) + (body if number % 10 == 0 else b"\0" * int(random.integers(64)))
        array = Array(str(random.choice(KINDS)), SHAPE, "numpy.ndarray", data)
        try:
            found = read_array(array, SHAPE, "w")
            assert found.shape == SHAPE and found.dtype == np.float32
            taken += 1
        except InputError as error:
            assert "\n" not in str(error)
    grown = peak() - before
    cases.measure("peak memory of headers, in honest updates", grown / HONEST)
    assert grown <= 2 * HONEST
    assert taken < number_of / 10  # nearly all of them lie
