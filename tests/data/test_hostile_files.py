"""Files of a data set that are damaged in any way are a line that names them."""

import io
import struct
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest

from flockwise.data.decoders import FEMNIST_FILE, _json_labels
from flockwise.data.folder import Folder
from flockwise.data.formats import read_npz
from flockwise.data.png import SIGNATURE, read_png
from flockwise.errors import DataError
from flockwise.rng import generator


def npy(header: str, data: bytes = b"", version: bytes = b"\x01\x00") -> bytes:
    text = header.encode("latin1")
    size = struct.pack("<H" if version == b"\x01\x00" else "<I", len(text))
    return b"\x93NUMPY" + version + size + text + data


def npz(content: bytes, method: int = zipfile.ZIP_STORED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        archive.writestr("a.npy", content)
    return stream.getvalue()


def described(shape: str, kind: str = "'<f4'") -> str:
    return f"{{'descr': {kind}, 'fortran_order': False, 'shape': {shape}, }}"


def with_method(content: bytes, method: int) -> bytes:
    """The same archive, said to be packed in another way."""
    changed = bytearray(content)
    for mark, place in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        at = changed.index(mark)
        changed[at + place : at + place + 2] = struct.pack("<H", method)
    return bytes(changed)


def encrypted(content: bytes) -> bytes:
    changed = bytearray(content)
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = changed.index(mark)
        changed[at + place] |= 1
    return bytes(changed)


GOOD = npy(described("(2,)"), np.ones(2, np.float32).tobytes())
HOSTILE = {
    "a method nobody has": with_method(npz(GOOD), 99),
    "a method that needs a library": with_method(npz(GOOD), 12),
    "encrypted": encrypted(npz(GOOD)),
    "more numbers than there is memory": npz(npy(described("(2305843009213693951,)"))),
    "more numbers than there are bytes": npz(npy(described("(1000000000000,)"))),
    "a size that is no number": npz(npy(described("(99999999999999999999999999,)"))),
    "a negative size": npz(npy(described("(-1,)"))),
    "a shape of text": npz(npy(described("('x',)"))),
    "objects": npz(npy(described("(1,)", "'|O'"))),
    "a dtype that is none": npz(npy(described("(1,)", "'rubbish'"))),
    "records": npz(npy(described("(1,)", "[('a', '|O')]"))),
    "no header": npz(b"\x93NUMPY\x01\x00"),
    "an open bracket": npz(npy("{'descr': (" * 500)),
    "a later version": npz(npy(described("(2,)"), b"12345678", b"\x09\x00")),
    "fewer bytes than it says": npz(GOOD[:-1]),
    "more bytes than it says": npz(GOOD + b"x"),
    "no array": npz(b"hello"),
    "another array": npz(GOOD).replace(b"a.npy", b"b.npy"),
    "no archive": b"hello",
    "nothing": b"",
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_npz_is_named(what: str) -> None:
    with pytest.raises(DataError, match=r"^file\.npz: ") as caught:
        read_npz(HOSTILE[what], "file.npz", ("a",), 1_000_000)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize(
    "array", [np.arange(6).reshape(2, 3), np.asfortranarray(np.ones((2, 3))), np.array(5), np.array(["é"])]
)
def test_an_array_is_read_as_numpy_reads_it(array: np.ndarray, method: int) -> None:
    stream = io.BytesIO()
    (np.savez if method == zipfile.ZIP_STORED else np.savez_compressed)(stream, a=array)
    found = read_npz(stream.getvalue(), "file.npz", ("a",), 1_000_000)["a"]
    assert found.dtype == array.dtype and found.shape == array.shape and np.array_equal(found, array)


def test_a_size_that_the_archive_lies_about_is_refused() -> None:
    content = bytearray(npz(npy(described("(1000000,)"), bytes(4_000_000)), zipfile.ZIP_DEFLATED))
    for mark, place in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = content.index(mark)
        content[at + place : at + place + 4] = struct.pack("<I", 100)
    with pytest.raises(DataError):
        read_npz(bytes(content), "file.npz", ("a",), 1_000_000)


def test_flipped_bits_give_an_array_or_a_line() -> None:
    stream = io.BytesIO()
    np.savez_compressed(stream, a=np.arange(40, dtype=np.int32), b=np.ones((3, 4), np.uint8))
    whole, rng = stream.getvalue(), generator(0, "npz")
    for _ in range(1500):
        damaged = bytearray(whole)
        for place in rng.integers(len(whole), size=int(rng.integers(1, 4))):
            damaged[place] ^= 1 << int(rng.integers(8))
        try:
            read_npz(bytes(damaged), "file.npz", ("a", "b"), 1_000_000)
        except DataError as error:
            assert "\n" not in str(error)


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(width: int, height: int, raw: bytes) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return SIGNATURE + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    "size",
    [
        (2**32 - 1, 2**32 - 1),
        (2**31, 2**31),
        (1, 2**32 - 1),
        (2**32 - 1, 1),
        (0, 0),
        (0, 5),
        (5, 0),
        (30_000, 30_000),
    ],
)
def test_sizes_of_a_png_that_cannot_be_are_named(size: tuple[int, int]) -> None:
    with pytest.raises(DataError, match=r"^file: truncated or damaged PNG"):
        read_png(png(*size, b"\0" * 100), "file")


def test_a_png_that_unpacks_for_ever_takes_little_memory() -> None:
    program = (
        "from resource import RUSAGE_SELF, getrusage\n"
        "from flockwise.data.png import read_png\nfrom flockwise.errors import DataError\n"
        "from tests.data.test_hostile_files import png\n"
        "bomb, before = png(20_000, 60_000, bytes(200_000_000)), getrusage(RUSAGE_SELF).ru_maxrss\n"
        "try: read_png(bomb, 'file')\n"
        "except DataError: print('told', getrusage(RUSAGE_SELF).ru_maxrss - before)"
    )
    told = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=Path(__file__).parents[2]
    )
    assert told.stdout.startswith("told"), told.stderr
    assert int(told.stdout.split()[1]) < 50_000


@pytest.mark.parametrize(
    "labels",
    ["[1e400]", "[99999999999999999999]", "[" * 100_000, '["x"]', "{}", "5", "[[1], [2, 3]]", "\ud800"],
)
def test_labels_that_are_none_are_named(tmp_path: Path, labels: str) -> None:
    (tmp_path / "labels.json").write_bytes(labels.encode("utf-8", "surrogatepass"))
    with pytest.raises(DataError, match=r"labels\.json: truncated or damaged"):
        _json_labels(Folder(tmp_path, frozenset({"labels.json"})), "labels.json")


def femnist(**changes: np.ndarray) -> bytes:
    arrays = {
        "images": np.zeros((3, 28, 28), np.uint8), "labels": np.arange(3), "writer": np.array([0, 1, 1]),
        "split": np.zeros(3, np.uint8), "writer_names": np.array(["f0003_41", "f2100_62"]),
        "writer_status": np.array([2, 1]),
    }  # fmt: skip
    stream = io.BytesIO()
    np.savez(stream, **{**arrays, **changes})
    return stream.getvalue()


@pytest.mark.parametrize(
    "changes",
    [
        {"images": np.zeros(3)}, {"images": np.array(5)}, {"labels": np.arange(2)}, {"writer": np.array([0, 1, 7])},
        {"writer": np.array(["x", "y", "z"])}, {"split": np.zeros((3, 3))}, {"writer_names": np.array(["x", "y"])},
        {"writer_status": np.array([1])}, {"writer": np.array([0.5, np.nan, np.inf])}, {"labels": np.array(["a", "b", "c"])},
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")
def test_arrays_that_do_not_fit_each_other_are_named(tmp_path: Path, changes: dict[str, np.ndarray]) -> None:
    from flockwise.data.registry import DATASETS
    from flockwise.data.verify import decode_verified

    (tmp_path / FEMNIST_FILE).write_bytes(femnist(**changes))
    spec = DATASETS["femnist"]
    with pytest.raises(DataError) as caught:
        decode_verified(spec, Folder(tmp_path, frozenset({FEMNIST_FILE})))
    assert "\n" not in str(caught.value) and str(tmp_path) in str(caught.value)
