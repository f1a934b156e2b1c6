"""The models that clients train, and how a model is laid out as one flat vector.

A new file in this folder with a function under `@model` is all it takes to add a model.
"""

from typing import TYPE_CHECKING, Any

from flockwise.models.contract import MODELS, ImageShape, ModelPiece, build, model
from flockwise.models.convolutional import cfl_cnn, cifar_cnn, cnn, lenet
from flockwise.models.dense import mlp, softmax
from flockwise.models.layout import Entry, Layout
from flockwise.models.mobilenet import mobilenet, mobilenet_original
from flockwise.models.series_cnn import series_cnn
from flockwise.models.token_mlp import token_mlp

__all__ = [
    "MODELS",
    "Entry",
    "ImageShape",
    "Layout",
    "ModelPiece",
    "build",
    "cfl_cnn",
    "cifar_cnn",
    "cnn",
    "lenet",
    "mlp",
    "mobilenet",
    "mobilenet_original",
    "model",
    "series_cnn",
    "softmax",
    "token_mlp",
]

if not TYPE_CHECKING:  # for a type checker only the names above exist

    def __getattr__(name: str) -> Any:
        return MODELS.exported(name)
