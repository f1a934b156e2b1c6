"""Turns a user's per-client arrays into one data set and the indices of each client's parts."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flockwise.data.dataset import Dataset
from flockwise.data.holdout import hold_out
from flockwise.errors import InputError
from flockwise.rng import generator

Parts: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
Samples: TypeAlias = tuple[NDArray[Any], NDArray[np.int64]]


def join_clients(
    clients: Sequence[Any], classes: int | None, validation: float, seed: int, layout: str, name: str
) -> tuple[Dataset, list[Parts]]:
    """One data set with all training samples first, and (train, validation, test) of each client."""
    if len(clients) == 0:
        raise InputError("clients = []: give at least one client, as (x, y) or ((x, y), (x, y))")
    if layout not in ("NHWC", "NCHW"):
        raise InputError(f"layout = {layout!r}: must be NHWC or NCHW")
    pairs = [_train_and_test(entry, f"clients[{number}]", layout) for number, entry in enumerate(clients)]
    training, tests = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    _same_kind([*training, *(test for test in tests if len(test[1]))])
    shape, kind = training[0][0].shape[1:], training[0][0].dtype
    tests = [test if len(test[1]) else (np.empty((0, *shape), kind), test[1]) for test in tests]
    x = np.concatenate([x for x, _ in [*training, *tests]])
    y = np.concatenate([y for _, y in [*training, *tests]])
    count = int(y.max()) + 1 if classes is None else int(classes)
    total = sum(len(labels) for _, labels in training)
    maximum = 255.0 if kind == np.uint8 else 1.0
    dataset = Dataset(name, x, y, total, maximum, count, tuple(str(label) for label in range(count)))
    train_blocks = _blocks([len(labels) for _, labels in training], 0)
    test_blocks = _blocks([len(labels) for _, labels in tests], total)
    parts = []
    for number, (block, test) in enumerate(zip(train_blocks, test_blocks, strict=True)):
        train, held_out = hold_out(block, validation, generator(seed, "validation", number))
        parts.append((train, held_out, test))
    return dataset, parts


def _blocks(lengths: list[int], start: int) -> list[NDArray[np.int64]]:
    ends = start + np.cumsum(lengths)
    return [np.arange(end - length, end, dtype=np.int64) for end, length in zip(ends, lengths, strict=True)]


def _train_and_test(entry: Any, field: str, layout: str) -> tuple[Samples, Samples]:
    if not isinstance(entry, (tuple, list)) or len(entry) != 2:
        raise InputError(f"{field} = {type(entry).__name__}: must be (x, y) or ((x, y), (x, y))")
    nested = all(isinstance(part, (tuple, list)) and len(part) == 2 for part in entry)
    # A plain (x, y) whose x and y are lists of two numbers or images each would look nested too.
    if nested and all(np.ndim(part[1]) == 1 for part in entry):
        test = _samples(entry[1], f"{field} test", layout)
        return _samples(entry[0], f"{field} train", layout), test
    train = _samples(entry, field, layout)
    return train, (train[0][:0], train[1][:0])


def _samples(pair: Any, field: str, layout: str) -> Samples:
    x, y = np.asarray(pair[0]), np.asarray(pair[1])
    if x.ndim < 2 or y.ndim != 1 or len(x) != len(y):
        raise InputError(f"{field} = x {x.shape}, y {y.shape}: must be x (samples, ...) and y (samples,)")
    if len(y) and not np.issubdtype(y.dtype, np.integer):
        raise InputError(f"{field} y = {y.dtype}: must be whole-number labels; one-hot rows need argmax(1)")
    if layout == "NCHW" and x.ndim == 4:
        x = np.moveaxis(x, 1, -1)
    if x.dtype != np.uint8:
        x = x.astype(np.float32)
    return x, y.astype(np.int64)


def _same_kind(samples: list[Samples]) -> None:
    if not len(samples[0][1]):
        raise InputError("clients[0] = no training samples: every client needs at least one")
    first = samples[0][0]
    for x, y in samples:
        if not len(y):
            raise InputError("clients = one without training samples: every client needs at least one")
        if x.shape[1:] != first.shape[1:] or x.dtype != first.dtype:
            raise InputError(
                f"clients = samples of {x.dtype} {x.shape[1:]} and of {first.dtype} {first.shape[1:]}: "
                "must be of one type and shape"
            )
