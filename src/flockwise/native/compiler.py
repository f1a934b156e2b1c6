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
        directory = _cache_directory()
    except RuntimeError:
        return None, "no home directory for the compiled kernels; set XDG_CACHE_HOME"
    return _load(compiler, str(directory), package, name, (*FLAGS, *flags))


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
    compiler: str, directory: str, package: str, name: str, flags: tuple[str, ...]
) -> tuple[ctypes.CDLL | None, str]:
    try:
        stem = _fingerprint(compiler, package, name, flags)
        path = _find(Path(directory), stem) or _compile(compiler, Path(directory), stem, package, name, flags)
    except subprocess.SubprocessError:
        return None, f"{compiler} cannot compile the kernels"
    except OSError:
        return None, f"cannot write to the cache {directory}"
    try:
        return ctypes.CDLL(str(path)), ""
    except OSError:
        return None, f"the compiled kernels in {directory} cannot be loaded"


def _find(directory: Path, stem: str) -> Path | None:
    """The library that was compiled before. One that a crash left damaged could kill the process: it is removed."""
    for path in sorted(directory.glob(f"{stem}-*.so")):
        if path.name == _named(stem, path.read_bytes()):
            return path
        path.unlink(missing_ok=True)
    return None


def _named(stem: str, content: bytes) -> str:
    return f"{stem}-{hashlib.sha256(content).hexdigest()[:16]}.so"


def _compile(
    compiler: str, directory: Path, stem: str, package: str, name: str, flags: tuple[str, ...]
) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(dir=directory) as scratch,
        resources.as_file(resources.files(package)) as sources,
    ):
        output = Path(scratch) / "kernels.so"
        command = [compiler, *flags, *_machine_flags(), str(sources / f"{name}.cpp"), "-o", str(output)]
        subprocess.run(command, check=True, capture_output=True, timeout=300)
        path = directory / _named(stem, output.read_bytes())
        os.replace(output, path)
        return path


def _cache_directory() -> Path:
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "flockwise" / "native"


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
