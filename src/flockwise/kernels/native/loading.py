"""The compiled library, asked for when an input is worth it."""

import ctypes
from functools import cache

from flockwise.native import load_library

SMALLEST = 1 << 21  # numbers; below, NumPy takes a few milliseconds, and compiling takes seconds
FLAGS = ("-O3",)

_POINTER, _NUMBER = ctypes.c_void_p, ctypes.c_int64
_PAIRS = (_POINTER, _NUMBER, _NUMBER, _POINTER, _NUMBER, _NUMBER, _POINTER)
_COLUMNS = (_POINTER, _NUMBER, _POINTER, _NUMBER, _NUMBER, _NUMBER, _NUMBER, _POINTER)
_ARGUMENTS = {
    "flockwise_middle": _COLUMNS,
    "flockwise_closest": _COLUMNS,
    "flockwise_differences": _PAIRS,
    "flockwise_products": _PAIRS,
    "flockwise_weighted": _PAIRS,
    "flockwise_lengths": _PAIRS,
    "flockwise_fold": (_POINTER, _NUMBER, _NUMBER, _POINTER, _POINTER, _NUMBER, _NUMBER, _NUMBER, _POINTER),
}


def library(numbers: int) -> ctypes.CDLL | None:
    """The kernels for an input of so many numbers; None if it is small or they cannot be had."""
    return None if numbers < SMALLEST else _kernels()[0]


def status() -> str:
    """Whether large inputs run in C++, and if not, why; compiles if that has not been done yet."""
    found, reason = _kernels()
    return "C++" if found is not None else f"NumPy: {reason}"


@cache
def _kernels() -> tuple[ctypes.CDLL | None, str]:
    found, reason = load_library("flockwise.kernels.native", "kernels", FLAGS)
    if found is not None:
        declare(found)
    return found, reason


def declare(kernels: ctypes.CDLL) -> None:
    """Tell ctypes what the functions take; without it, numbers would be passed as 32 bits."""
    for name, arguments in _ARGUMENTS.items():
        getattr(kernels, name).argtypes = arguments  # kernels[name] would be another function each time
