"""Nothing is loaded from a cache that somebody else could have written to."""

import ctypes
import hashlib
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from flockwise.kernels.native import loading  # noqa: F401  before a test puts something in the place of ctypes.CDLL
from flockwise.native import compiler, load_library

pytestmark = pytest.mark.skipif(compiler.find_compiler() is None, reason="needs a C++ compiler")
is_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
SOURCE = ("flockwise.kernels.native", "kernels", ("-O0",))
NOBODY = 65534


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("FLOCKWISE_NATIVE", raising=False)
    compiler.forget()
    yield tmp_path / "cache" / "flockwise" / "native"
    compiler.forget()


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that leaves a mark when it is loaded."""
    folder = tmp_path_factory.mktemp("planted")
    (folder / "evil.cpp").write_text(
        "#include <cstdio>\n#include <cstdlib>\n"
        '__attribute__((constructor)) static void run() { const char* m = getenv("MARK"); if (m) fclose(fopen(m, "w")); }\n'
        'extern "C" long flockwise_lanes() { return 4; }\n'
    )
    found = compiler.find_compiler()
    assert found is not None
    subprocess.run(
        [found, "-shared", "-fPIC", str(folder / "evil.cpp"), "-o", str(folder / "evil.so")], check=True
    )
    return folder / "evil.so"


def plant(cache: Path, library: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Put it where the real one would be; (the library, its mark)."""
    cache.mkdir(parents=True, exist_ok=True)
    name = compiler.find_compiler()
    assert name is not None
    stem = compiler._fingerprint(name, *SOURCE[:2], (*compiler.FLAGS, *SOURCE[2]))
    mark = hashlib.sha256(library.read_bytes()).hexdigest()
    for length in (16, 64):  # as releases have named them
        target = cache / f"{stem}-{mark[:length]}.so"
        shutil.copy(library, target)
    monkeypatch.setenv("MARK", str(cache.parents[1] / "ran"))
    return target, cache.parents[1] / "ran"


def test_the_mark_is_left_by_what_is_loaded(
    cache: Path, planted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test of the tests: in a cache that is ours it would run."""
    target, mark = plant(cache, planted, monkeypatch)
    target.chmod(0o600)
    cache.chmod(0o700)
    load_library(*SOURCE)
    assert mark.exists()


@is_root
def test_a_library_in_a_folder_of_another_user_is_not_loaded(
    cache: Path, planted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, mark = plant(cache, planted, monkeypatch)
    os.chown(cache, NOBODY, NOBODY)
    cache.chmod(0o777)
    found, reason = load_library(*SOURCE)
    assert not mark.exists() and found is None
    assert str(cache) in reason and "another user" in reason and "\n" not in reason


@is_root
def test_a_library_of_another_user_in_our_folder_is_not_loaded(
    cache: Path, planted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, mark = plant(cache, planted, monkeypatch)
    cache.chmod(0o777)
    for file in cache.iterdir():
        os.chown(file, NOBODY, NOBODY)
    found, reason = load_library(*SOURCE)
    assert not mark.exists() and found is not None and reason == ""
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    (kept,) = cache.iterdir()
    assert kept.stat().st_uid == os.geteuid() and kept.name != target.name


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o707, 0o720, 0o702])
def test_what_lies_in_a_folder_that_others_could_write_to_is_made_anew(
    cache: Path, planted: Path, monkeypatch: pytest.MonkeyPatch, mode: int
) -> None:
    _, mark = plant(cache, planted, monkeypatch)
    cache.chmod(mode)
    assert load_library(*SOURCE)[0] is not None
    assert not mark.exists() and stat.S_IMODE(cache.stat().st_mode) == 0o700


@pytest.mark.parametrize("mode", [0o666, 0o620, 0o602, 0o777])
def test_a_library_that_others_could_write_to_is_made_anew(
    cache: Path, planted: Path, monkeypatch: pytest.MonkeyPatch, mode: int
) -> None:
    plant(cache, planted, monkeypatch)
    cache.chmod(0o700)
    for file in cache.iterdir():
        file.chmod(mode)
    assert load_library(*SOURCE)[0] is not None
    assert not (cache.parents[1] / "ran").exists()


def test_a_link_is_not_followed(
    cache: Path, planted: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _, mark = plant(cache, planted, monkeypatch)
    cache.chmod(0o700)
    for file in list(cache.iterdir()):
        file.unlink()
        file.symlink_to(planted)
    assert load_library(*SOURCE)[0] is not None and not mark.exists()
    assert planted.exists()
    compiler.forget()
    shutil.move(cache, tmp_path / "elsewhere")
    cache.symlink_to(tmp_path / "elsewhere")
    found, reason = load_library(*SOURCE)
    assert found is None and str(cache) in reason and "link" in reason


def test_a_relative_cache_is_not_used(
    cache: Path, planted: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    _, mark = plant(tmp_path / "work" / "here" / "flockwise" / "native", planted, monkeypatch)
    assert load_library(*SOURCE)[0] is not None
    assert not mark.exists() and list((home / ".cache" / "flockwise" / "native").iterdir())
    compiler.forget()
    monkeypatch.setenv("HOME", "home")
    found, reason = load_library(*SOURCE)
    assert found is None and "no home directory" in reason


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o077])
def test_the_cache_is_its_owners_alone_whatever_the_umask(cache: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        assert load_library(*SOURCE)[0] is not None
    finally:
        os.umask(before)
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    assert [stat.S_IMODE(file.stat().st_mode) for file in cache.iterdir()] == [0o600]


def test_a_library_that_was_changed_is_made_anew(
    cache: Path, planted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_library(*SOURCE)
    (kept,) = cache.iterdir()
    whole = kept.read_bytes()
    kept.unlink()  # the one in use must not be touched
    shutil.copy(planted, kept)
    kept.chmod(0o600)
    monkeypatch.setenv("MARK", str(cache.parents[1] / "ran"))
    compiler.forget()
    assert load_library(*SOURCE)[0] is not None
    assert kept.read_bytes() == whole and not (cache.parents[1] / "ran").exists()


def test_what_is_loaded_is_what_was_looked_at(
    cache: Path, planted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody who puts another file in place between the look and the loading has nothing of it."""
    program = (
        f"from flockwise.native import load_library; load_library{SOURCE!r}"  # not known to this process yet
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    (kept,) = cache.iterdir()
    monkeypatch.setenv("MARK", str(cache.parents[1] / "ran"))
    load = ctypes.CDLL

    def swapped(name: str, *more: object) -> object:
        os.replace(shutil.copy(planted, cache / "other"), kept)
        return load(name, *more)

    monkeypatch.setattr(ctypes, "CDLL", swapped)
    library, _ = load_library(*SOURCE)
    assert library is not None and hasattr(library, "flockwise_middle")
    assert not (cache.parents[1] / "ran").exists()


def test_a_refusal_is_told_with_the_trainer(cache: Path, tmp_path: Path) -> None:
    import torch
    from torch import nn

    from flockwise.training import Recipe
    from flockwise.training.choose import choose_trainer

    cache.parent.mkdir(parents=True)
    cache.symlink_to(tmp_path)
    recipe = Recipe(epochs=1, batch_size=4, learning_rate=0.1)
    module = nn.Sequential(nn.Flatten(), nn.Linear(4, 2))
    trainer, line = choose_trainer(module, (1, 2, 2), recipe)
    assert "generic path" in line and str(cache) in line and "\n" not in line
    assert trainer is not None and torch is not None
