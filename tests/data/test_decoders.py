import io
import json
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

from flockwise.data import decoders
from flockwise.data.decoders import (
    CIFAR_BATCHES,
    FEMNIST_FILE,
    decode_cifar_binary,
    decode_cifar_png,
    decode_femnist,
)
from flockwise.data.folder import Folder
from flockwise.errors import DataError


def folder(path: Path, files: dict[str, bytes]) -> Folder:
    path.mkdir(exist_ok=True)
    for name, content in files.items():
        (path / name).write_bytes(content)
    return Folder(path, frozenset(files))


def png(rows: np.ndarray) -> bytes:
    """Rows of RGB bytes as an unfiltered PNG."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", rows.shape[1] // 3, rows.shape[0], 8, 2, 0, 0, 0)
    raw = np.pad(rows, ((0, 0), (1, 0))).tobytes()
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(raw, 1))
        + chunk(b"IEND", b"")
    )


def test_the_binary_and_the_png_layout_of_cifar_agree(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    # Mostly black images pack quickly; a block of noise shows a mix-up of planes, rows or batches.
    images = np.zeros((6, 10_000, 32, 32, 3), np.uint8)
    images[:, :50] = random.integers(0, 256, (6, 50, 32, 32, 3), dtype=np.uint8)
    labels = random.integers(0, 10, (6, 10_000))
    binary, packed = {}, {}
    for batch, pixels, y in zip(CIFAR_BATCHES, images, labels, strict=True):
        planes = pixels.transpose(0, 3, 1, 2).reshape(10_000, -1)
        binary[f"{batch}.bin"] = np.concatenate([y[:, np.newaxis].astype(np.uint8), planes], axis=1).tobytes()
        packed[f"{batch}.png"] = png(pixels.reshape(10_000, -1))
    packed["train_lables.json"] = json.dumps(labels[:5].ravel().tolist()).encode()
    packed["test_lables.json"] = json.dumps(labels[5].tolist()).encode()
    first = decode_cifar_binary(folder(tmp_path / "binary", binary))
    second = decode_cifar_png(folder(tmp_path / "png", packed))
    assert np.array_equal(first["x"], images.reshape(-1, 32, 32, 3)) and np.array_equal(
        first["y"], labels.ravel()
    )
    assert np.array_equal(first["x"], second["x"]) and np.array_equal(first["y"], second["y"])


def test_broken_json_labels_are_named(tmp_path: Path) -> None:
    broken = folder(tmp_path, {"train_lables.json": b"[1, 2"})
    with pytest.raises(DataError, match=r"train_lables\.json: truncated or damaged"):
        decoders._json_labels(broken, "train_lables.json")


def test_femnist_drops_copies_and_puts_the_training_part_first(tmp_path: Path) -> None:
    images = np.zeros((6, 28, 28), np.uint8)
    images[:, 0, 0] = [1, 2, 1, 1, 3, 4]
    stream = io.BytesIO()
    np.savez(
        stream,
        images=images,
        labels=np.array([0, 1, 0, 5, 2, 3], np.uint8),
        writer=np.array([0, 0, 0, 1, 1, 1], np.int32),
        split=np.array([1, 0, 0, 1, 0, 1], np.uint8),
        writer_names=np.array(["f0003_41", "f2100_62"]),
        writer_status=np.array([2, 1], np.uint8),
    )
    arrays = decode_femnist(folder(tmp_path, {FEMNIST_FILE: stream.getvalue()}))
    # Sample 0 is a test copy of training sample 2; sample 3 looks the same but is of another writer.
    assert arrays["x"][:, 0, 0, 0].tolist() == [2, 1, 3, 1, 4]
    assert arrays["y"].tolist() == [1, 0, 2, 5, 3]
    assert arrays["writer"].tolist() == [0, 0, 1, 1, 1]
    assert arrays["writer_group"].tolist() == [0, 0, 4, 4, 4]
    assert arrays["writer_status"].tolist() == [2, 2, 1, 1, 1]


@pytest.mark.parametrize(("name", "series"), [("f0499_0", 0), ("f0500_0", 1), ("f2099_9", 3), ("f4099_1", 7)])
def test_the_series_follows_the_writers_number(name: str, series: int) -> None:
    assert decoders._series(name) == series
