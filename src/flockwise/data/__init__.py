"""Data sets, and federations of clients that hold parts of them."""

from flockwise.data.cache import default_cache
from flockwise.data.dataset import Dataset
from flockwise.data.federation import PARTS, Federation, Shard
from flockwise.data.fetching import SOURCES, fetch
from flockwise.data.holdout import hold_out
from flockwise.data.loading import Available, available, load
from flockwise.data.registry import DATASETS, find_spec
from flockwise.data.sets import cifar10, digits, fashion_mnist, femnist, mnist
from flockwise.data.spec import Spec

__all__ = [
    "DATASETS",
    "PARTS",
    "SOURCES",
    "Available",
    "Dataset",
    "Federation",
    "Shard",
    "Spec",
    "available",
    "cifar10",
    "default_cache",
    "digits",
    "fashion_mnist",
    "femnist",
    "fetch",
    "find_spec",
    "hold_out",
    "load",
    "mnist",
]
