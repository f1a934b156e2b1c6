"""The models that clients train, and how a model is laid out as one flat vector.

A new file in this folder with a function under `@model` is all it takes to add a model.

For type checkers and editors `make docs` writes the names of all files into `__init__.pyi`.
"""

from flockwise.models.contract import MODELS, ImageShape, ModelPiece, build, model
from flockwise.models.layout import Entry, Layout

__all__ = ["MODELS", "Entry", "ImageShape", "Layout", "ModelPiece", "build", "model"]
__all__ += [piece.function.__name__ for piece in MODELS.values()]
