"""The compiled kernels of local training."""

import ctypes

from flockwise.native import load_library
from flockwise.training.native.match import Unsupported

FLAGS = ("-O2",)

_NAMES = {16: "AVX-512", 8: "AVX2", 4: "128-bit"}


def load_kernels() -> tuple[ctypes.CDLL, str]:
    """The kernels and the name of their vector instructions; raises `Unsupported`."""
    library, reason = load_library("flockwise.training.native", "kernels", FLAGS)
    if library is None:
        raise Unsupported(reason)
    return library, _NAMES[library.flockwise_lanes()]
