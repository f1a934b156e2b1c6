"""Kernels in C++ that are compiled on first use where a compiler is found; nothing needs them."""

from flockwise.native.compiler import load_library

__all__ = ["load_library"]
