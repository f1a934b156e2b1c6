"""Compile a package's C++ once for this machine and keep the library in the user's cache."""

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path

from flockwise.native.cache import Cache, Refused, cache_directory

FLAGS = ("-std=gnu++2a", "-shared", "-fPIC", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math")


def load_library(package: str, name: str, flags: Sequence[str] = ("-O3",)) -> tuple[ctypes.CDLL | None, str]:
    """The library made from `name`.cpp in the package, or None and the reason in a few words.

    Safe when several processes call it at once: each compiles to a file of its own and renames it. Asks once:
    later calls get the same answer. `FLOCKWISE_NATIVE=0` in the environment switches all libraries off.
    """
    if os.environ.get("FLOCKWISE_NATIVE") == "0":
        return None, "FLOCKWISE_NATIVE is 0"
    compiler = find_compiler()
    if compiler is None:
        return None, "no C++ compiler found"
    try:
        directory = cache_directory()
    except RuntimeError:
        return None, "no home directory for the compiled kernels; set XDG_CACHE_HOME"
    return _load(compiler, directory, package, name, (*FLAGS, *flags))


def find_compiler() -> str | None:
    """The compiler that CXX names, or the system's."""
    wanted = os.environ.get("CXX")
    candidates = [wanted] if wanted else ["c++", "g++", "clang++"]
    return next((path for path in map(shutil.which, candidates) if path), None)


def forget() -> None:
    """Look for compilers and libraries again."""
    _load.cache_clear()


@cache
def _load(
    compiler: str, directory: Path, package: str, name: str, flags: tuple[str, ...]
) -> tuple[ctypes.CDLL | None, str]:
    try:
        with Cache(directory) as kept:
            return _from(kept, compiler, package, name, flags)
    except Refused as refused:
        return None, str(refused)
    except subprocess.SubprocessError:
        return None, f"{compiler} cannot compile the kernels"
    except OSError:
        return None, f"cannot write to the cache {directory}"


def _from(
    kept: Cache, compiler: str, package: str, name: str, flags: tuple[str, ...]
) -> tuple[ctypes.CDLL | None, str]:
    stem = _fingerprint(compiler, package, name, flags)
    wrong = f"the compiled kernels in {kept.path} cannot be loaded"
    try:
        found = kept.load(stem)
    except OSError:
        return None, wrong
    if found is None:
        _compile(compiler, kept, stem, package, name, flags)
        try:
            found = kept.load(stem)
        except OSError:
            return None, wrong
    return found, "" if found is not None else wrong


def _compile(compiler: str, kept: Cache, stem: str, package: str, name: str, flags: tuple[str, ...]) -> None:
    with (
        tempfile.TemporaryDirectory(dir=kept.path) as scratch,
        resources.as_file(resources.files(package)) as sources,
    ):
        output = Path(scratch) / "kernels.so"
        command = [compiler, *flags, *_machine_flags(), str(sources / f"{name}.cpp"), "-o", str(output)]
        subprocess.run(command, check=True, capture_output=True, timeout=300)
        kept.put(output, stem)


def _machine_flags() -> list[str]:
    # Clang on ARM knows -mcpu=native instead of -march=native.
    flags = ["-mcpu=native" if platform.machine() in ("arm64", "aarch64") else "-march=native"]
    if platform.machine() in ("x86_64", "AMD64"):
        # Compilers prefer 256 bits on some AVX-512 machines; the kernels say themselves how wide.
        flags.append("-mprefer-vector-width=512")
    return flags


def _fingerprint(compiler: str, package: str, name: str, flags: tuple[str, ...]) -> str:
    """Changes with the sources, the compiler, its flags and the processor."""
    digest = hashlib.sha256()
    folder = resources.files(package)
    for source in sorted(folder.iterdir(), key=lambda file: file.name):
        if source.name.endswith((".h", ".cpp")):
            digest.update(source.name.encode() + b"\0" + source.read_bytes())
    status = os.stat(compiler)
    parts = (name, compiler, status.st_size, status.st_mtime_ns, flags, _machine_flags(), _processor())
    for part in parts:
        digest.update(repr(part).encode() + b"\0")
    return digest.hexdigest()[:32]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    wanted = ("vendor_id", "model name", "flags", "Features", "CPU part")
    return repr(sorted({line for line in lines if line.startswith(wanted)}))
