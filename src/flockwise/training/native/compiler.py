"""Compile the kernels once for this machine and keep the library in the user's cache."""

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from contextlib import AbstractContextManager
from functools import cache
from importlib import resources
from pathlib import Path

from flockwise.training.native.match import Unsupported

_FLAGS = (
    "-O2", "-std=gnu++2a", "-shared", "-fPIC", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math",
)  # fmt: skip
_NAMES = {16: "AVX-512", 8: "AVX2", 4: "128-bit"}


def load_library() -> tuple[ctypes.CDLL, str]:
    """The compiled kernels and the name of their vector instructions; raises `Unsupported`.

    Safe when several processes call it at once: each compiles to a file of its own and renames it.
    """
    compiler = _find_compiler()
    if compiler is None:
        raise Unsupported("no C++ compiler found")
    return _load(compiler, str(_cache_directory()))


@cache
def _load(compiler: str, directory: str) -> tuple[ctypes.CDLL, str]:
    path = Path(directory) / f"{_fingerprint(compiler)}.so"
    if not path.exists():
        _compile(compiler, path)
    try:
        library = ctypes.CDLL(str(path))
        lanes = library.flockwise_lanes()
    except (OSError, AttributeError) as error:
        raise Unsupported(f"the compiled kernels in {directory} cannot be loaded") from error
    return library, _NAMES[lanes]


def _compile(compiler: str, path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as scratch, _sources() as sources:
            output = Path(scratch) / "kernels.so"
            command = [compiler, *_FLAGS, *_machine_flags(), str(sources / "kernels.cpp"), "-o", str(output)]
            subprocess.run(command, check=True, capture_output=True, timeout=300)
            os.replace(output, path)
    except subprocess.SubprocessError as error:
        raise Unsupported(f"{compiler} cannot compile the kernels") from error
    except OSError as error:
        raise Unsupported(f"cannot write to the cache {path.parent}") from error


def _sources() -> AbstractContextManager[Path]:
    return resources.as_file(resources.files("flockwise.training.native"))


def _find_compiler() -> str | None:
    wanted = os.environ.get("CXX")
    candidates = [wanted] if wanted else ["c++", "g++", "clang++"]
    return next((path for path in map(shutil.which, candidates) if path), None)


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


def _fingerprint(compiler: str) -> str:
    """Changes with the sources, the compiler, its flags and the processor."""
    digest = hashlib.sha256()
    folder = resources.files("flockwise.training.native")
    for source in sorted(folder.iterdir(), key=lambda file: file.name):
        if source.name.endswith((".h", ".cpp")):
            digest.update(source.name.encode() + b"\0" + source.read_bytes())
    status = os.stat(compiler)
    for part in (compiler, status.st_size, status.st_mtime_ns, _FLAGS, _machine_flags(), _processor()):
        digest.update(repr(part).encode() + b"\0")
    return digest.hexdigest()[:32]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    wanted = ("vendor_id", "model name", "flags", "Features", "CPU part")
    return repr(sorted({line for line in lines if line.startswith(wanted)}))
