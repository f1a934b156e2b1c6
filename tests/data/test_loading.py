import gzip
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from flockwise.data import DATASETS, Spec, available, load
from flockwise.data import loading as loading_module
from flockwise.data.decoders import MNIST_FILES, QMNIST_FILES
from flockwise.errors import DataError

IMAGES = "train-images-idx3-ubyte"


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def no_decoding(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("decoded again")

    monkeypatch.setattr(loading_module, "decode_verified", fail)


def test_a_directory_is_decoded_and_verified(registered: Spec, directory: Path, cache: Path) -> None:
    dataset = load("tiny", directory, cache)
    assert dataset.x.shape == (40, 4, 4, 1) and dataset.x.dtype == np.uint8
    assert dataset.y.dtype == np.int64 and dataset.y[:12].tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1]
    assert dataset.train == 30 and dataset.writer is None


def test_the_second_start_opens_memory_maps_and_decodes_nothing(
    registered: Spec, directory: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = load("tiny", directory, cache)
    no_decoding(monkeypatch)
    for source in (directory, None):
        again = load("tiny", source, cache)
        assert isinstance(again.x, np.memmap) and not again.x.flags.writeable
        assert np.array_equal(again.x, first.x) and np.array_equal(again.y, first.y)


def test_unpacked_files_and_archives_give_the_same_data_set(
    registered: Spec,
    directory: Path,
    cache: Path,
    tiny_files: dict[str, bytes],
    pack: Callable,
    tmp_path: Path,
) -> None:
    packed = load("tiny", directory, cache)
    plain, archive = tmp_path / "plain" / "tiny", tmp_path / "archive" / "tiny"
    plain.mkdir(parents=True)
    archive.mkdir(parents=True)
    for name in MNIST_FILES:
        (plain / name).write_bytes(tiny_files[name])
    (archive / "package.tgz").write_bytes(pack({f"package/data/{n}": tiny_files[n] for n in MNIST_FILES}))
    for number, folder in enumerate((plain, archive)):
        other = load("tiny", folder.parent, tmp_path / f"cache{number}")
        assert np.array_equal(packed.x, other.x) and np.array_equal(packed.y, other.y)


def test_writers_are_added_to_a_cache_that_was_made_without_them(
    registered: Spec, directory: Path, cache: Path, tiny_files: dict[str, bytes]
) -> None:
    assert load("tiny", directory, cache).writer is None
    for name in QMNIST_FILES:
        (directory / "tiny" / f"{name}.gz").write_bytes(gzip.compress(tiny_files[name]))
    dataset = load("tiny", directory, cache)
    assert dataset.writer is not None and dataset.writer_group is not None
    assert dataset.writer[28:33].tolist() == [
        28,
        29,
        0,
        1,
        2,
    ]  # test writers 10 to 14 are not of these digits
    assert load("tiny", None, cache).writer is not None


def test_writers_of_other_digits_are_refused(
    registered: Spec, directory: Path, cache: Path, tiny_files: dict[str, bytes]
) -> None:
    wrong = bytearray(tiny_files[QMNIST_FILES[0]])
    wrong[12 + 3] ^= 1  # the class of the first digit
    for name, content in zip(QMNIST_FILES, (wrong, tiny_files[QMNIST_FILES[1]]), strict=True):
        (directory / "tiny" / name).write_bytes(content)
    with pytest.raises(DataError, match="QMNIST labels are not of these digits"):
        load("tiny", directory, cache)


def test_a_changed_pixel_is_found_and_nothing_is_cached(
    registered: Spec, directory: Path, cache: Path, tiny_files: dict[str, bytes]
) -> None:
    wrong = bytearray(tiny_files[IMAGES])
    wrong[-1] ^= 1
    (directory / "tiny" / f"{IMAGES}.gz").write_bytes(gzip.compress(bytes(wrong)))
    with pytest.raises(DataError, match=r"tiny: x of tiny has SHA-256 .* not .* flockwise data get tiny"):
        load("tiny", directory, cache)
    assert not cache.exists()


def test_a_truncated_file_is_named(registered: Spec, directory: Path, cache: Path) -> None:
    path = directory / "tiny" / f"{IMAGES}.gz"
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(DataError, match=rf"{IMAGES}\.gz: truncated or damaged"):
        load("tiny", directory, cache)


def test_a_missing_file_is_named(registered: Spec, directory: Path, cache: Path) -> None:
    (directory / "tiny" / f"{IMAGES}.gz").unlink()
    with pytest.raises(DataError, match=rf"{IMAGES}\.gz is missing \(1 of 4 files of tiny\)"):
        load("tiny", directory, cache)


def test_what_is_nowhere_says_where_it_was_looked_for_and_what_to_do(
    registered: Spec, tmp_path: Path, cache: Path
) -> None:
    with pytest.raises(
        DataError, match=r"data set tiny: not found in .*tiny and .*cache; run flockwise data get"
    ):
        load("tiny", tmp_path, cache)
    with pytest.raises(DataError, match="no such directory; correct --data or FLOCKWISE_DATA"):
        load("tiny", tmp_path / "nowhere", cache)


def test_a_damaged_cache_is_an_error_alone_and_replaced_from_a_directory(
    registered: Spec, directory: Path, cache: Path
) -> None:
    load("tiny", directory, cache)
    path = cache / "tiny" / "x.npy"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(
        DataError, match=r"x\.npy: has 767 of 768 bytes; delete .*tiny and run flockwise data get"
    ):
        load("tiny", None, cache)
    load("tiny", directory, cache)
    assert load("tiny", None, cache).samples == 40


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_cache_that_cannot_be_written_costs_only_time(
    registered: Spec, directory: Path, cache: Path
) -> None:
    cache.mkdir(mode=0o500)
    assert load("tiny", directory, cache).samples == 40


def test_a_cache_that_is_a_file_costs_only_time(registered: Spec, directory: Path, cache: Path) -> None:
    cache.write_text("in the way")
    assert load("tiny", directory, cache).samples == 40


@pytest.mark.parametrize(("name", "hint"), [("minst", "did you mean mnist"), ("xyz", "known are digits")])
def test_an_unknown_name_gets_a_hint(name: str, hint: str) -> None:
    with pytest.raises(DataError, match=hint):
        load(name)


def test_the_list_says_where_each_data_set_would_come_from(
    registered: Spec, directory: Path, cache: Path
) -> None:
    found = {record.name: record.where for record in available(directory, cache)}
    assert found["digits"] == "embedded" and found["mnist"] is None
    assert found["tiny"] == str(directory / "tiny")
    load("tiny", directory, cache)
    shutil.rmtree(directory / "tiny")
    records = {record.name: record for record in available(directory, cache)}
    assert records["tiny"].where == str(cache / "tiny")
    assert records.keys() == DATASETS.keys()
    assert all(record.summary and record.licence for record in records.values())


def test_digits_are_embedded_fixed_and_read_only() -> None:
    digits = load("digits")
    assert digits.x.shape == (1797, 8, 8, 1) and digits.train == 1437 and digits.classes == 10
    assert digits.maximum == 16 and digits.x.max() == 16
    assert np.bincount(digits.y).min() > 170
    with pytest.raises(ValueError, match="read-only"):
        digits.x[0] = 0
