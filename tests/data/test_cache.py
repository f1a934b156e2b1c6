import json
import os
from pathlib import Path

import numpy as np
import pytest

from flockwise.data import Spec
from flockwise.data import cache as cache_module
from flockwise.data.cache import default_cache, is_cached, open_cached, write_cached
from flockwise.data.decoders import Arrays
from flockwise.data.folder import Folder
from flockwise.data.verify import decode_verified
from flockwise.errors import DataError


@pytest.fixture
def arrays(tiny: Spec, directory: Path) -> Arrays:
    return decode_verified(tiny, Folder(directory / "tiny", tiny.wanted))


def test_what_is_written_is_read_back_as_read_only_maps(tiny: Spec, arrays: Arrays, tmp_path: Path) -> None:
    folder = write_cached(tiny, tmp_path, arrays)
    opened = open_cached(tiny, tmp_path, check=True)
    assert folder == tmp_path / "tiny" and opened.keys() == {"x", "y"}
    assert all(isinstance(array, np.memmap) and not array.flags.writeable for array in opened.values())
    assert [entry.name for entry in tmp_path.iterdir() if entry.name.startswith(".")] == []


@pytest.mark.parametrize("step", ["write_array", "fsync", "replace"])
def test_a_write_that_fails_leaves_the_old_data_and_no_rubbish(
    step: str, tiny: Spec, arrays: Arrays, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"

    def fail(*_: object, **__: object) -> None:
        raise OSError("disk full")

    owner = {"write_array": np.lib.format}.get(step, os)
    with monkeypatch.context() as patch:
        patch.setattr(owner, step, fail)
        with pytest.raises(OSError, match="disk full"):
            write_cached(tiny, cache, arrays)
    assert not is_cached(tiny, cache)
    assert list(cache.iterdir()) == []
    write_cached(tiny, cache, arrays)
    open_cached(tiny, cache)


def test_a_second_write_replaces_the_first_while_it_is_open(
    tiny: Spec, arrays: Arrays, tmp_path: Path
) -> None:
    write_cached(tiny, tmp_path / "cache", arrays)
    held = open_cached(tiny, tmp_path / "cache")
    write_cached(tiny, tmp_path / "cache", arrays)
    assert np.array_equal(held["x"], arrays["x"])
    assert [entry.name for entry in (tmp_path / "cache").iterdir()] == ["tiny"]


def test_another_process_that_was_faster_wins(
    tiny: Spec, arrays: Arrays, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    rename = os.replace

    def slow(source: Path, target: Path) -> None:
        monkeypatch.setattr(os, "replace", rename)
        write_cached(tiny, cache, arrays)  # the other process
        rename(source, target)

    monkeypatch.setattr(os, "replace", slow)
    write_cached(tiny, cache, arrays)
    assert open_cached(tiny, cache, check=True).keys() == {"x", "y"}
    assert [entry.name for entry in cache.iterdir()] == ["tiny"]


def test_old_leftovers_of_killed_writers_are_removed_and_nothing_else(
    tiny: Spec, arrays: Arrays, tmp_path: Path
) -> None:
    for name in (f"{cache_module.TEMPORARY}old", f"{cache_module.TEMPORARY}new", ".other.folder"):
        (tmp_path / name).mkdir()
        if not name.endswith("new"):
            os.utime(tmp_path / name, (0, 0))
    write_cached(tiny, tmp_path, arrays)
    names = {entry.name for entry in tmp_path.iterdir()}
    assert f"{cache_module.TEMPORARY}old" not in names
    assert {f"{cache_module.TEMPORARY}new", ".other.folder", "tiny"} <= names


def break_meta(folder: Path, change: dict) -> None:
    meta = json.loads((folder / "meta.json").read_text())
    (folder / "meta.json").write_text(json.dumps(meta | change))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / "meta.json").write_text("{"), "damaged cache"),
        (lambda folder: (folder / "meta.json").write_text("[]"), "damaged cache"),
        (lambda folder: break_meta(folder, {"version": 99}), "cache of version 99, not 1"),
        (lambda folder: break_meta(folder, {"arrays": {}}), "(x|y) is missing"),
        (lambda folder: break_meta(folder, {"arrays": {"x": {"sha256": "0", "bytes": 1}}}), "missing|hash"),
        (lambda folder: (folder / "y.npy").unlink(), "damaged cache"),
        (lambda folder: (folder / "y.npy").write_bytes(b""), "has 0 of 448 bytes"),
        (lambda folder: (folder / "y.npy").write_bytes(bytes(448)), "damaged cache"),
        (
            lambda folder: np.save(folder / "y.npy", np.zeros((40, 1), np.int64)),
            r"is int64 \(40, 1\), not int64",
        ),
        (lambda folder: np.save(folder / "y.npy", np.zeros(40, ">i8")), "is >i8 .* not int64"),
    ],
)
def test_a_damaged_cache_says_what_is_wrong_and_what_to_do(
    damage,
    message: str,
    tiny: Spec,
    arrays: Arrays,
    tmp_path: Path,  # type: ignore[no-untyped-def]
) -> None:
    damage(write_cached(tiny, tmp_path, arrays))
    with pytest.raises(DataError, match=message) as caught:
        open_cached(tiny, tmp_path)
    assert f"delete {tmp_path / 'tiny'} and run flockwise data get tiny" in str(caught.value)


def test_a_flipped_bit_is_found_when_asked_to_check(tiny: Spec, arrays: Arrays, tmp_path: Path) -> None:
    path = write_cached(tiny, tmp_path, arrays) / "x.npy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    open_cached(tiny, tmp_path)
    with pytest.raises(DataError, match="SHA-256"):
        open_cached(tiny, tmp_path, check=True)


def test_the_cache_follows_xdg(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert default_cache() == Path("/somewhere/flockwise")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # the standard says to ignore it
    monkeypatch.setenv("HOME", "/home/me")
    assert default_cache() == Path("/home/me/.cache/flockwise")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert default_cache() == Path("/home/me/.cache/flockwise")
