"""Graphs of very many clients in C++, where a compiler is found; each call is None where the caller must do it."""

import ctypes
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flockwise.native import load_library

_POINTER, _NUMBER = ctypes.c_void_p, ctypes.c_int64
_ARGUMENTS = {
    "flockwise_communities": (
        _NUMBER, _POINTER, _POINTER, _POINTER, _POINTER, ctypes.c_double, ctypes.c_uint64, ctypes.c_int, _NUMBER, _POINTER,
    ),
    "flockwise_nearest": (_POINTER, _NUMBER, _NUMBER, _POINTER, _POINTER, _NUMBER, _POINTER, _POINTER),
}  # fmt: skip
CLIMBS = 10  # at most; two or three are usual


def communities(
    weights: Any,
    strength: NDArray[np.float64],
    labels: NDArray[Any],
    resolution: float,
    seed: int,
    refine: bool,
) -> NDArray[np.int64] | None:
    """Communities of a graph in SciPy's sparse rows, symmetric and without a diagonal, from these labels on."""
    kernels = _library()
    if kernels is None:
        return None
    starts = np.ascontiguousarray(weights.indptr, dtype=np.int64)
    to = np.ascontiguousarray(weights.indices, dtype=np.int32)
    weight = np.ascontiguousarray(weights.data, dtype=np.float32)
    found = np.ascontiguousarray(labels, dtype=np.int32)
    failed = kernels.flockwise_communities(
        len(found),
        _at(starts),
        _at(to),
        _at(weight),
        _at(strength),
        resolution,
        seed,
        refine,
        CLIMBS,
        _at(found),
    )
    if failed:
        raise MemoryError(f"the communities of {len(found)} clients do not fit in memory")
    return found.astype(np.int64)


def keep_nearest(
    products: NDArray[np.float32], query: NDArray[np.int32], candidate: NDArray[np.int32], ids: NDArray[np.int32],
    values: NDArray[np.float32],
) -> bool:  # fmt: skip
    """Put candidates with larger products into the lists of their queries, in place; says if it was done."""
    kernels = _library()
    if kernels is None:
        return False
    kernels.flockwise_nearest(
        _at(products),
        len(query),
        len(candidate),
        _at(query),
        _at(candidate),
        ids.shape[1],
        _at(ids),
        _at(values),
    )
    return True


@cache
def _library() -> Any:
    found = load_library("flockwise.clustering.native", "graphs")[0]
    if found is not None:
        for name, arguments in _ARGUMENTS.items():
            getattr(found, name).argtypes = arguments
    return found


def _at(array: NDArray[Any]) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
