"""Data sets, and federations of clients that hold parts of them."""

from collections import ChainMap
from collections.abc import Mapping
from typing import Any

from flockwise.data.cache import default_cache
from flockwise.data.checking import DataCheck, Finding, check_data
from flockwise.data.dataset import Dataset, Holder
from flockwise.data.federation import PARTS, Federation
from flockwise.data.fetching import SOURCES, fetch
from flockwise.data.holdout import held_out, hold_out
from flockwise.data.loading import Available, available, load
from flockwise.data.reading import READERS, reader
from flockwise.data.registry import DATASETS, find_spec
from flockwise.data.sets import arms, cifar10, digits, fashion_mnist, femnist, keyboards, meters, mnist
from flockwise.data.shard import Shard
from flockwise.data.spec import Spec
from flockwise.data.table_folder import folder

# All that [data] may name: published data sets, and what reads data of a user's own.
NAMED_DATA: Mapping[str, Any] = ChainMap(READERS, DATASETS)  # type: ignore[arg-type]

__all__ = [
    "DATASETS",
    "NAMED_DATA",
    "PARTS",
    "READERS",
    "SOURCES",
    "Available",
    "DataCheck",
    "Dataset",
    "Federation",
    "Finding",
    "Holder",
    "Shard",
    "Spec",
    "arms",
    "available",
    "check_data",
    "cifar10",
    "default_cache",
    "digits",
    "fashion_mnist",
    "femnist",
    "fetch",
    "find_spec",
    "folder",
    "held_out",
    "hold_out",
    "keyboards",
    "load",
    "meters",
    "mnist",
    "reader",
]
