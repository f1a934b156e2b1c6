import shutil
import subprocess
import sys

import numpy as np
import pytest

from flockwise.aggregation import median
from flockwise.kernels.native import loading
from flockwise.native import compiler, load_library

has_compiler = pytest.mark.skipif(compiler.find_compiler() is None, reason="needs a C++ compiler")
SOURCE = ("flockwise.kernels.native", "kernels", ("-O0",))


@pytest.fixture(autouse=True)
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("FLOCKWISE_NATIVE", raising=False)
    compiler.forget()
    loading._kernels.cache_clear()
    yield tmp_path / "cache" / "flockwise" / "native"
    compiler.forget()
    loading._kernels.cache_clear()


def fake_compiler(folder, monkeypatch, script):
    path = folder / "fake-c++"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    monkeypatch.setenv("CXX", str(path))


def assert_numpy_does_it(monkeypatch, reason):
    assert reason in loading.status()
    monkeypatch.setattr(loading, "SMALLEST", 0)
    rows = np.random.default_rng(0).standard_normal((9, 50), dtype=np.float32)
    assert np.array_equal(median(rows), np.median(rows, axis=0))


@has_compiler
def test_a_library_is_compiled_once(empty_cache, monkeypatch):
    first, reason = load_library(*SOURCE)
    assert first is not None and reason == ""
    (file,) = empty_cache.iterdir()
    written = file.stat().st_mtime_ns
    compiler.forget()
    again, _ = load_library(*SOURCE)
    assert again is not None and file.stat().st_mtime_ns == written


@has_compiler
@pytest.mark.parametrize("kept", [0.0, 0.5, 0.9])
def test_a_library_that_a_crash_cut_short_is_compiled_again(empty_cache, kept):
    load_library(*SOURCE)
    (file,) = empty_cache.iterdir()
    whole = file.read_bytes()
    file.unlink()  # the one in use must not be touched
    file.write_bytes(whole[: int(kept * len(whole))])
    compiler.forget()
    again, reason = load_library(*SOURCE)
    assert again is not None and reason == ""
    assert [found.read_bytes() for found in empty_cache.iterdir()] == [whole]


def test_without_a_home(monkeypatch):
    def no_home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(compiler.Path, "home", no_home)
    monkeypatch.setenv("CXX", sys.executable)
    assert_numpy_does_it(monkeypatch, "no home directory")


@has_compiler
def test_other_flags_make_another_library(empty_cache):
    load_library(*SOURCE)
    load_library(*SOURCE[:2], ("-O0", "-DFLOCKWISE_LANES=4"))
    assert len(list(empty_cache.iterdir())) == 2


def test_it_can_be_switched_off(monkeypatch):
    monkeypatch.setenv("FLOCKWISE_NATIVE", "0")
    assert_numpy_does_it(monkeypatch, "FLOCKWISE_NATIVE is 0")


def test_without_a_compiler(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert_numpy_does_it(monkeypatch, "no C++ compiler found")


def test_with_a_broken_compiler(empty_cache, tmp_path, monkeypatch):
    fake_compiler(tmp_path, monkeypatch, "exit 1")
    assert_numpy_does_it(monkeypatch, "cannot compile the kernels")
    assert not list(empty_cache.iterdir())


def test_with_a_compiler_that_writes_rubbish(tmp_path, monkeypatch):
    fake_compiler(tmp_path, monkeypatch, 'while [ "$1" != -o ]; do shift; done; echo rubbish > "$2"')
    assert_numpy_does_it(monkeypatch, "cannot be loaded")


def test_with_a_cache_that_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("a file where the cache directory should be")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setenv("CXX", sys.executable)
    assert_numpy_does_it(monkeypatch, "cannot write to the cache")


@has_compiler
def test_processes_that_compile_at_once_all_get_the_library(empty_cache):
    program = f"from flockwise.native import load_library\nprint(load_library{SOURCE!r}[0].flockwise_lanes())"
    command = [sys.executable, "-c", program]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    answers = {process.communicate(timeout=300)[0].strip() for process in processes}
    assert len(answers) == 1 and answers <= {"4", "8", "16"}
    assert [file.suffix for file in empty_cache.iterdir()] == [".so"]
