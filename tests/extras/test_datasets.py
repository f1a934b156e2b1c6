"""Hugging Face data sets and flwr-datasets partitions, made from data of this machine: there is no hub in a test."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flockwise as fw

datasets = pytest.importorskip("datasets", reason="datasets is not installed: .ci/extended extras")
partitioners = pytest.importorskip(
    "flwr_datasets.partitioner", reason="flwr-datasets is not installed: .ci/extended extras"
)
pytestmark = pytest.mark.filterwarnings("ignore")  # the libraries' own


def pictures() -> Any:
    """The embedded digits as a data set of Hugging Face's: pictures, and named classes."""
    digits = fw.data.digits()
    features = datasets.Features(
        {"image": datasets.Image(), "label": datasets.ClassLabel(names=[f"digit {i}" for i in range(10)])}
    )
    chosen = digits.x[:400, :, :, 0]
    return datasets.Dataset.from_dict(
        {"image": list(chosen), "label": digits.y[:400].tolist()}, features=features
    )


def test_partitions_of_pictures_are_clients(tmp_path: Path) -> None:
    partitioner = partitioners.IidPartitioner(num_partitions=4)
    partitioner.dataset = pictures()
    parts = [partitioner.load_partition(number) for number in range(4)]
    clients = fw.Federation.from_arrays(parts, target="label", features=["image"])
    assert clients.dataset.shape == (8, 8, 1) and clients.sizes("train").sum() < 400
    x, y = clients.arrays(0, "train")
    raw = np.asarray(parts[0][0]["image"])
    assert raw.max() > 1 >= x.max() and set(y.tolist()) <= set(range(10))
    run = fw.run(fw.fedavg(), clients, model=fw.models.softmax, rounds=2, out=tmp_path / "run")
    assert run.state == "finished"


def test_partitions_by_label_and_by_name(tmp_path: Path) -> None:
    skewed = partitioners.DirichletPartitioner(
        num_partitions=3, partition_by="label", alpha=0.5, min_partition_size=5
    )
    skewed.dataset = pictures()
    parts = {f"node {number}": skewed.load_partition(number).train_test_split(0.25) for number in range(3)}
    clients = fw.Federation.from_arrays(parts, target="label", features=["image"], validation=0)
    assert clients.names == ["node 0", "node 1", "node 2"] and (clients.sizes("test") > 0).all()
    natural = partitioners.NaturalIdPartitioner(partition_by="hospital")
    natural.dataset = datasets.Dataset.from_dict(
        {"age": [30.0, 40.0, 50.0, 60.0] * 5, "ill": [0, 1, 0, 1] * 5, "hospital": ["A", "B", "A", "B"] * 5}
    )
    tables = [natural.load_partition(number) for number in range(2)]
    named = fw.Federation.from_arrays(tables, target="ill", features=["age"], validation=0)
    assert named.clients == 2 and named.dataset.columns == ("age",)


def test_texts_as_tokens_of_different_lengths() -> None:
    data = datasets.Dataset.from_dict({"ids": [[5, 6, 7], [8], [1, 2]], "label": [0, 1, 0]})
    clients = fw.Federation.from_arrays([data], target="label", features=["ids"], validation=0)
    assert clients.dataset.tokens
    assert clients.arrays(0, "train")[0].tolist() == [[5, 6, 7], [8, 0, 0], [1, 2, 0]]
