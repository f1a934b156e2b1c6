"""Local training with kernels in C++ that are compiled on first use."""

from flockwise.training.native.match import Unsupported
from flockwise.training.native.trainer import NativeTrainer, unfit_recipe

__all__ = ["NativeTrainer", "Unsupported", "unfit_recipe"]
