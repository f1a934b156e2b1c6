"""Local training with kernels in C++ that are compiled on first use."""

from flockwise.training.native.match import Unsupported
from flockwise.training.native.trainer import NativeTrainer

__all__ = ["NativeTrainer", "Unsupported"]
