"""Data sets, and federations of clients that hold parts of them."""

from flockwise.data.carve import carve
from flockwise.data.dataset import Dataset
from flockwise.data.digits import load_digits
from flockwise.data.federation import PARTS, Federation, Shard
from flockwise.data.loading import load

__all__ = ["PARTS", "Dataset", "Federation", "Shard", "carve", "load", "load_digits"]
