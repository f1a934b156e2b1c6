"""Checks decoded arrays against the facts and hashes of the registry."""

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flockwise.data.dataset import Dataset
from flockwise.data.decoders import Arrays
from flockwise.data.folder import Folder
from flockwise.data.formats import DAMAGED, damaged
from flockwise.data.spec import Spec
from flockwise.errors import DataError


def decode_verified(spec: Spec, folder: Folder) -> Arrays:
    """Decode the first complete layout and verify every array; DataError says what is missing or wrong."""
    for layout in spec.layouts:
        if folder.names.issuperset(layout.names):
            try:
                arrays = layout.decode(folder)
            except DAMAGED as problem:  # each file can be read, but they do not go together
                raise damaged(folder.path, problem) from problem
            verify(spec, arrays, str(folder.path))
            return arrays
    nearest = max(spec.layouts, key=lambda layout: len(folder.names & set(layout.names)))
    missing = [name for name in nearest.names if name not in folder.names]
    raise DataError(
        f"{folder.path}: {missing[0]} is missing ({len(missing)} of {len(nearest.names)} files of "
        f"{spec.name}); add it or run flockwise data get {spec.name}"
    )


def verify(spec: Spec, arrays: Arrays, where: str) -> None:
    """Refuse arrays that are not exactly the published data."""
    for name in spec.sha256.keys() - spec.optional - arrays.keys():
        raise DataError(f"{where}: {spec.name} lacks {name}; run flockwise data get {spec.name}")
    for name, array in arrays.items():
        found, expected = digest(array), spec.sha256.get(name)
        if found != expected:
            raise DataError(
                f"{where}: {name} of {spec.name} has SHA-256 {found[:12]}..., not {str(expected)[:12]}...: "
                f"this is not the published data; delete it and run flockwise data get {spec.name}"
            )


def digest(array: NDArray[Any]) -> str:
    """SHA-256 of an array's bytes in C order."""
    return hashlib.sha256(np.ascontiguousarray(array).data).hexdigest()


def assemble(spec: Spec, arrays: Arrays) -> Dataset:
    """The data set made of verified arrays."""
    dataset = Dataset(
        name=spec.name,
        x=arrays["x"],
        y=arrays["y"],
        train=spec.train,
        maximum=spec.maximum,
        classes=spec.classes,
        class_names=spec.class_names,
        writer=arrays.get("writer"),
        writer_group=arrays.get("writer_group"),
        writer_status=arrays.get("writer_status"),
        holders=spec.holders,
        columns=spec.columns,
        tokens=spec.tokens,
    )
    return dataset.registered_as(spec.name)
