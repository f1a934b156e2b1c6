"""Turns what a user brings for each client into one data set and the indices of each client's parts."""

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flockwise.data.dataset import Dataset
from flockwise.data.entries import Pair, train_and_test
from flockwise.data.holdout import hold_out
from flockwise.data.inputs import Inputs, input_arrays
from flockwise.data.labels import IGNORED, label_arrays
from flockwise.data.tables import Target
from flockwise.errors import InputError
from flockwise.rng import generator

Parts: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
Labels: TypeAlias = Literal["classes", "numbers"]


def join_clients(
    entries: Sequence[Any], fields: Sequence[str], *, classes: int | Sequence[str] | None, validation: float, seed: int,
    layout: str, name: str, inputs: Inputs, labels: Labels, target: Target | None, features: Sequence[str] | None,
) -> tuple[Dataset, list[Parts]]:  # fmt: skip
    """One data set with all training samples first, and (train, validation, test) of each client."""
    if layout not in ("NHWC", "NCHW"):
        raise InputError(f"layout = {layout!r}: must be NHWC or NCHW")
    if labels not in ("classes", "numbers"):
        raise InputError(f"labels = {labels!r}: must be classes, or numbers (to predict)")
    pairs = [
        train_and_test(entry, field, target, features) for entry, field in zip(entries, fields, strict=True)
    ]
    training = [train for train, _ in pairs]
    tests = [test for _, test in pairs]
    held = [*training, *(test for test in tests if test is not None and len(test.y))]
    _have_samples(training, fields)
    held = _same_columns(held)
    joined = input_arrays([(pair.x, pair.field) for pair in held], inputs, layout)
    said = checked_classes(classes) if isinstance(classes, Sequence) else ()
    y, named = label_arrays(held, labels == "numbers", said)
    _same_kind(joined.arrays, y, held)
    counted = None if isinstance(classes, Sequence) else classes
    count = (len(said) or _classes(y, counted, named)) if labels == "classes" else 0
    lengths = [len(array) for array in y]
    total = sum(lengths[: len(training)])
    dataset = Dataset(
        name, np.concatenate(joined.arrays), np.concatenate(y), total, joined.maximum, count,
        named or tuple(str(label) for label in range(count)), columns=held[0].columns, tokens=joined.tokens,
    )  # fmt: skip
    return dataset, _dealt(lengths, tests, validation, seed)


def _dealt(lengths: list[int], tests: list[Pair | None], validation: float, seed: int) -> list[Parts]:
    """Each client's indices; test samples lie behind all training samples, where a client has any."""
    ends = np.cumsum(lengths)
    blocks = [np.arange(end - size, end, dtype=np.int64) for end, size in zip(ends, lengths, strict=True)]
    train_blocks, test_blocks = blocks[: len(tests)], iter(blocks[len(tests) :])
    parts = []
    for number, (block, test) in enumerate(zip(train_blocks, tests, strict=True)):
        train, held_out = hold_out(block, validation, generator(seed, "validation", number))
        has_test = test is not None and len(test.y)
        parts.append((train, held_out, next(test_blocks) if has_test else np.empty(0, np.int64)))
    return parts


def checked_classes(names: Sequence[str]) -> tuple[str, ...]:
    """The names of classes that somebody says, each once and at least two."""
    found = tuple(str(name) for name in names)
    if isinstance(names, str) or len(found) < 2 or len(set(found)) < len(found):
        raise InputError(f"classes = {names!r}: must be the names of all classes, each once, at least two")
    return found


def _classes(y: list[NDArray[Any]], classes: int | None, named: tuple[str, ...]) -> int:
    if classes is not None:
        return int(classes)
    found = max((int(array[array != IGNORED].max(initial=-1)) for array in y), default=-1) + 1
    return max(found, len(named))


def _have_samples(training: list[Pair], fields: Sequence[str]) -> None:
    empty = [field for pair, field in zip(training, fields, strict=True) if _count(pair) == 0]
    if empty:
        more = f" and {len(empty) - 1} more" if len(empty) > 1 else ""
        raise InputError(
            f"{empty[0]}{more} = no training samples: every client needs at least one; leave it out"
        )


def _count(pair: Pair) -> int:
    for name, values in (("x", pair.x), ("y", pair.y)):
        if not hasattr(values, "__len__") or np.ndim(np.asarray(values, dtype=object)) == 0:
            raise InputError(
                f"{pair.field} {name} = {type(values).__name__}: must be an array, one entry a sample"
            )
    if len(pair.x) != len(pair.y):
        raise InputError(f"{pair.field} = {len(pair.x)} samples, {len(pair.y)} labels: must be as many")
    return len(pair.y)


def _same_columns(held: list[Pair]) -> list[Pair]:
    """All tables with their columns in the order of the first: a column is what its name says, wherever it stands."""
    columns = held[0].columns
    for pair in held:
        odd = sorted(set(pair.columns) ^ set(columns))
        if odd or len(pair.columns) != len(columns):
            raise InputError(
                f"{pair.field} = columns unlike those of {held[0].field} ({', '.join(odd[:5])}): must be the same "
                "for all clients; features=[...] chooses"
            )
    return [
        pair
        if pair.columns == columns
        else pair._replace(x=pair.x[:, [pair.columns.index(name) for name in columns]], columns=columns)
        for pair in held
    ]


def _same_kind(x: list[NDArray[Any]], y: list[NDArray[Any]], held: list[Pair]) -> None:
    for array, labels, pair in zip(x, y, held, strict=True):
        if array.shape[1:] != x[0].shape[1:]:
            raise InputError(
                f"{pair.field} = samples of shape {array.shape[1:]}, {held[0].field} of {x[0].shape[1:]}: "
                "must be of one shape"
            )
        if labels.shape[1:] != y[0].shape[1:] or labels.ndim > 2:
            raise InputError(
                f"{pair.field} y = {labels.shape}: must be (samples,), or (samples, steps), for all clients alike"
            )
