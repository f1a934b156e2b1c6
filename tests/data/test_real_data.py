"""The real data sets, from the directory that FLOCKWISE_DATA names."""

import os
from pathlib import Path

import numpy as np
import pytest

from flockwise.data import DATASETS, Dataset, Federation, load
from flockwise.data.cache import open_cached
from flockwise.splits import by_writer, majority_class, noniid_degree, pathological

pytestmark = pytest.mark.needs_data


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def real(cache: Path):  # type: ignore[no-untyped-def]
    def get(name: str) -> Dataset:
        directory = os.environ.get("FLOCKWISE_DATA")
        if not directory or not (Path(directory) / name).is_dir():
            pytest.skip(f"set FLOCKWISE_DATA to a directory that holds {name}/ to run this test")
        return load(name, directory, cache)

    return get


@pytest.mark.parametrize(
    "name",
    ["mnist", "fashion-mnist", "femnist", pytest.param("cifar-10", marks=pytest.mark.slow)],
)
def test_the_published_files_decode_to_the_hashes_of_the_registry(name: str, real, cache: Path) -> None:  # type: ignore[no-untyped-def]
    dataset, spec = real(name), DATASETS[name]
    assert dataset.x.shape == (spec.samples, *spec.shape) and isinstance(dataset.x, np.memmap)
    assert len(dataset.class_names) == spec.classes
    open_cached(spec, cache, check=True)
    if name == "cifar-10":
        assert np.bincount(dataset.y[:50_000]).tolist() == [5000] * 10
        federation = majority_class(dataset, majority=1.0)
        assert federation.groups is not None and federation.groups.sum() == 6


def test_mnist_knows_its_writers(real) -> None:  # type: ignore[no-untyped-def]
    federation = by_writer(real("mnist"))
    groups = federation.groups
    assert federation.clients == 539
    assert groups is not None and set(groups.tolist()) == {0, 4}


def test_the_papers_100_clients_have_600_training_and_100_test_digits(real) -> None:  # type: ignore[no-untyped-def]
    federation = pathological(real("mnist"), validation=0)
    assert federation.sizes("train").tolist() == [600] * 100
    assert federation.sizes("test").tolist() == [100] * 100
    assert ((federation.label_counts() > 0).sum(axis=1) == 2).all()


def test_mini_fl_needs_replacement_for_3000_samples_each(real) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=r"samples = 3000.*must be"):
        noniid_degree(real("mnist"), samples=3000, validation=0)
    federation: Federation = noniid_degree(real("mnist"), samples=3000, validation=0, replacement=True)
    assert federation.sizes().tolist() == [3000] * 20


def test_femnist_has_388_whole_or_nearly_whole_writers_and_no_copies(real) -> None:  # type: ignore[no-untyped-def]
    dataset = real("femnist")
    federation = by_writer(dataset)
    assert federation.clients == 388
    assert sum(federation.sizes(part).sum() for part in ("train", "validation", "test")) == 60_311
    for shard in federation.shards[:40]:
        images = dataset.x[np.concatenate([shard.train, shard.validation, shard.test])]
        assert len(np.unique(images.reshape(len(images), -1), axis=0)) == len(images)
