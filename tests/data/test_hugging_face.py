"""Partitions of Hugging Face's kind: a stand-in with the part of `datasets.Dataset` that is used, where it is not installed.

flwr-datasets hands out such data sets: `[partitions.load_partition(i) for i in range(10)]`.
"""

from typing import Any

import numpy as np

from flockwise.data import Federation


class Partition:
    """`column_names`, columns by name as lists, and `with_format("numpy")`, which gives arrays."""

    def __init__(self, columns: dict[str, list[Any]], numpy: bool = False) -> None:
        self._columns, self._numpy = columns, numpy

    @property
    def column_names(self) -> list[str]:
        return list(self._columns)

    def with_format(self, kind: str) -> "Partition":
        assert kind == "numpy"
        return Partition(self._columns, numpy=True)

    def __len__(self) -> int:
        return len(next(iter(self._columns.values())))

    def __getitem__(self, name: str) -> Any:
        assert self._numpy, "pictures and lists must be asked for as arrays"
        values = [np.asarray(value) for value in self._columns[name]]
        same = len({value.shape for value in values}) == 1
        return np.stack(values) if same else values


def test_a_column_of_pictures_is_images_and_its_labels_are_classes() -> None:
    pictures = [np.full((4, 4, 3), value, np.uint8) for value in (0, 128, 255)]
    part = Partition({"img": list(pictures), "label": [2, 0, 1], "id": ["a", "b", "c"]})
    federation = Federation.from_arrays([part, (part, part)], target="label", features=["img"], validation=0)
    x, y = federation.arrays(0, "train")
    assert x.shape == (3, 4, 4, 3) and x.max() == 1.0 and y.tolist() == [2, 0, 1]
    assert federation.sizes("test").tolist() == [0, 3] and federation.dataset.classes == 3


def test_a_column_of_token_lists_is_padded_and_stays_whole() -> None:
    parts = [
        Partition({"ids": [[5, 6, 7], [8]], "label": [0, 1]}),
        Partition({"ids": [[1, 2], [3, 4]], "label": [1, 0]}),
    ]
    federation = Federation.from_arrays(parts, target="label", features=["ids"], validation=0)
    assert federation.dataset.tokens and federation.arrays(0, "train")[0].tolist() == [[5, 6, 7], [8, 0, 0]]
    assert federation.arrays(1, "train")[0].tolist() == [[1, 2, 0], [3, 4, 0]]


def test_columns_of_numbers_are_features() -> None:
    part = Partition({"age": [30, 40], "dose": [0.5, 1.5], "label": [0, 1]})
    federation = Federation.from_arrays({"north": part}, target="label", validation=0)
    assert federation.dataset.columns == ("age", "dose")
    assert federation.arrays(0, "train")[0].tolist() == [[30.0, 0.5], [40.0, 1.5]]
