"""The models that clients train, and how a model is laid out as one flat vector."""

from flockwise.models.layout import Entry, Layout
from flockwise.models.registry import MODELS, ImageShape, Model, build

__all__ = ["MODELS", "Entry", "ImageShape", "Layout", "Model", "build"]
