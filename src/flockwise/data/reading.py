"""Data that a config names and a function reads, such as a folder of tables: its options stand in `[data]`."""

from collections.abc import Callable
from dataclasses import dataclass

from flockwise.data.dataset import Dataset
from flockwise.registry import Piece, Registry, config_name

GIVEN = frozenset({"beside"})  # the folder of the config, which paths in it are relative to


@dataclass(frozen=True, eq=False, repr=False)
class ReaderPiece(Piece):
    """A way to read data of a user's own that can be named in a config."""


READERS: Registry[ReaderPiece] = Registry("flockwise.data")


def reader(summary: str) -> Callable[[Callable[..., Dataset]], ReaderPiece]:
    """Makes a function a reader by name."""

    def named(function: Callable[..., Dataset]) -> ReaderPiece:
        return READERS.add(ReaderPiece(config_name(function), summary, function, GIVEN, example=None))

    return named
