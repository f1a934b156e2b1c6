"""A tiny data set in the layouts of the real ones, so that files can be made, broken and packed."""

import gzip
import io
import struct
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from flockwise.data import DATASETS, Spec
from flockwise.data.decoders import MNIST_FILES, QMNIST_FILES
from flockwise.data.verify import digest

TRAIN, TEST = 30, 10


def idx(array: np.ndarray) -> bytes:
    code = 8 if array.dtype == np.uint8 else 12
    header = struct.pack(f">HBB{array.ndim}I", 0, code, array.ndim, *array.shape)
    return header + array.astype(array.dtype.newbyteorder(">")).tobytes()


@pytest.fixture(scope="session")
def tiny_files() -> dict[str, bytes]:
    """Unpacked IDX files of 30 + 10 images of 4 x 4 pixels, with QMNIST-like writers."""
    random = np.random.default_rng(0)
    files = {}
    for part, count in (("train", TRAIN), ("t10k", TEST)):
        files[f"{part}-images-idx3-ubyte"] = idx(random.integers(0, 256, (count, 4, 4), dtype=np.uint8))
        files[f"{part}-labels-idx1-ubyte"] = idx((np.arange(count) % 10).astype(np.uint8))
    for name, count in zip(QMNIST_FILES, (TRAIN, TEST + 5), strict=True):
        about = np.zeros((count, 8), dtype=np.int32)
        about[:, 0], about[:, 1], about[:, 2] = (
            np.arange(count) % 10,
            4 * (np.arange(count) % 2),
            np.arange(count),
        )
        files[name] = idx(about)
    return files


@pytest.fixture(scope="session")
def tiny(tiny_files: dict[str, bytes]) -> Spec:
    """A data set that is to the tiny files what MNIST is to its own."""
    images = [np.frombuffer(tiny_files[name], np.uint8, offset=16) for name in MNIST_FILES[::2]]
    arrays = {
        "x": np.concatenate(images),
        "y": np.concatenate([np.arange(count) % 10 for count in (TRAIN, TEST)]).astype(np.int64),
        "writer": np.concatenate([np.arange(TRAIN), np.arange(TEST)]).astype(np.int64),
        "writer_group": np.concatenate([4 * (np.arange(count) % 2) for count in (TRAIN, TEST)]).astype(
            np.int64
        ),
    }
    return replace(
        DATASETS["mnist"],
        name="tiny",
        samples=TRAIN + TEST,
        train=TRAIN,
        shape=(4, 4, 1),
        sha256={name: digest(array) for name, array in arrays.items()},
    )


@pytest.fixture
def registered(tiny: Spec, monkeypatch: pytest.MonkeyPatch) -> Spec:
    """The tiny data set, known by name."""
    monkeypatch.setitem(DATASETS, "tiny", tiny)
    return tiny


@pytest.fixture
def directory(tmp_path: Path, tiny_files: dict[str, bytes]) -> Path:
    """A data directory with the tiny data set in gzipped IDX files, without writers."""
    folder = tmp_path / "data" / "tiny"
    folder.mkdir(parents=True)
    for name in MNIST_FILES:
        (folder / f"{name}.gz").write_bytes(gzip.compress(tiny_files[name]))
    return folder.parent


@pytest.fixture
def pack() -> Callable[..., bytes]:
    """Makes a .tgz of the given files and extra members."""

    def make(files: dict[str, bytes], extra: tuple[tarfile.TarInfo, ...] = ()) -> bytes:
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w:gz") as archive:
            for name, content in files.items():
                member = tarfile.TarInfo(name)
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
            for member in extra:
                archive.addfile(member)
        return stream.getvalue()

    return make
