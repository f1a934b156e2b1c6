"""From the files of a data set to its arrays. Every layout of a data set gives the same arrays."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flockwise.data.folder import Folder
from flockwise.data.formats import DAMAGED, damaged, gunzip, read_idx, read_npz, read_raw, unxz
from flockwise.data.png import read_png
from flockwise.errors import DataError

Arrays = dict[str, NDArray[Any]]
LARGEST = 400_000_000  # bytes of one unpacked file

MNIST_FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
QMNIST_FILES = ("qmnist-train-labels-idx2-int", "qmnist-test-labels-idx2-int")
CIFAR_BATCHES = (*(f"data_batch_{number}" for number in range(1, 6)), "test_batch")
FEMNIST_FILE = "femnist_leaf_732writers.npz"


def decode_mnist(folder: Folder) -> Arrays:
    """MNIST and Fashion-MNIST: four IDX files, gzipped or not; QMNIST's writers where they are here."""
    train_x, train_y, test_x, test_y = (_idx(folder, name) for name in MNIST_FILES)
    arrays: Arrays = {
        "x": np.concatenate([train_x, test_x])[..., np.newaxis],
        "y": np.concatenate([train_y, test_y]).astype(np.int64),
    }
    if all(name in folder.names or f"{name}.gz" in folder.names for name in QMNIST_FILES):
        train, test = (_idx(folder, name) for name in QMNIST_FILES)
        # QMNIST's test labels go on beyond MNIST's: only the first 10,000 are of MNIST's digits.
        about = np.concatenate([train, test[: len(test_y)]]).astype(np.int64)
        if about.shape[1:] != (8,) or not np.array_equal(about[:, 0], arrays["y"]):
            raise DataError(
                f"{folder.path}: the QMNIST labels are not of these digits; delete and get them again"
            )
        arrays["writer"], arrays["writer_group"] = about[:, 2].copy(), about[:, 1].copy()
    return arrays


def decode_cifar_xz(folder: Folder) -> Arrays:
    """CIFAR-10 as raw pixels behind xz, with the labels in an npz file."""
    labels = read_npz(folder.read("labels.npz"), "labels.npz", ("y_train", "y_test"), 10_000_000)

    def decode(batch: str) -> NDArray[np.uint8]:
        name = f"{batch}.u8.xz"
        return read_raw(unxz(folder.read(name), name, LARGEST), name, (10_000, 32, 32, 3))

    with ThreadPoolExecutor(min(len(CIFAR_BATCHES), os.cpu_count() or 1)) as threads:
        x = np.concatenate(list(threads.map(decode, CIFAR_BATCHES)))
    return {"x": x, "y": np.concatenate([labels["y_train"], labels["y_test"]]).astype(np.int64)}


def decode_cifar_binary(folder: Folder) -> Arrays:
    """CIFAR-10's own binary version: a label byte, then the red, green and blue plane of each image."""
    names = [f"{batch}.bin" for batch in CIFAR_BATCHES]
    rows = np.concatenate([read_raw(folder.read(name), name, (10_000, 3073)) for name in names])
    x = np.ascontiguousarray(rows[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))
    return {"x": x, "y": rows[:, 0].astype(np.int64)}


def decode_cifar_png(folder: Folder) -> Arrays:
    """CIFAR-10 with each batch as one PNG of 10,000 rows, a row of 1,024 pixels being an image."""
    batches = []
    for batch in CIFAR_BATCHES:
        name = f"{batch}.png"
        pixels = read_png(folder.read(name), name)
        batches.append(read_raw(pixels.tobytes(), name, (10_000, 32, 32, 3)))
    labels = [_json_labels(folder, name) for name in ("train_lables.json", "test_lables.json")]
    return {"x": np.concatenate(batches), "y": np.concatenate(labels)}


def decode_femnist(folder: Folder) -> Arrays:
    """FEMNIST by writer, LEAF's training part first.

    LEAF stores one image of nearly every writer twice, often on both sides of its train/test split, so
    only the first copy is kept (71,212 of 71,614 samples).
    """
    keys = ("images", "labels", "writer", "split", "writer_names", "writer_status")
    found = read_npz(folder.read(FEMNIST_FILE), FEMNIST_FILE, keys, LARGEST)
    order = np.argsort(found["split"], kind="stable")
    images, writer = found["images"][order], found["writer"][order].astype(np.int64)
    keep = _first_copies(images, writer)
    writer = writer[keep]
    return {
        "x": images[keep][..., np.newaxis],
        "y": found["labels"][order][keep].astype(np.int64),
        "writer": writer,
        "writer_group": np.array([_series(str(name)) for name in found["writer_names"]], np.int64)[writer],
        "writer_status": found["writer_status"].astype(np.int64)[writer],
    }


def _first_copies(images: NDArray[np.uint8], writer: NDArray[np.int64]) -> NDArray[np.int64]:
    """Indices of the samples whose image this writer does not have earlier in the order."""
    seen: set[tuple[int, bytes]] = set()
    keep = []
    for index, (image, who) in enumerate(zip(images, writer.tolist(), strict=True)):
        key = (who, image.tobytes())
        if key not in seen:
            seen.add(key)
            keep.append(index)
    return np.array(keep, np.int64)


def _series(writer_name: str) -> int:
    """NIST's series (hsf number) of a writer such as f3152_47; the ranges are NIST's."""
    starts = {0: 0, 500: 1, 1000: 2, 1500: 3, 2100: 4, 3100: 6, 3600: 7}
    number = int(writer_name[1:5])
    return starts[max(start for start in starts if start <= number)]


def _idx(folder: Folder, name: str) -> NDArray[Any]:
    packed = f"{name}.gz"
    if name in folder.names and packed not in folder.names:
        return read_idx(folder.read(name), name)
    return read_idx(gunzip(folder.read(packed), packed, LARGEST), packed)


def _json_labels(folder: Folder, name: str) -> NDArray[np.int64]:
    try:
        labels = np.array(json.loads(folder.read(name)), dtype=np.int64)
        if labels.ndim != 1:
            raise ValueError("not a list of numbers")
    except DAMAGED as problem:
        raise damaged(name, problem) from problem
    return labels
