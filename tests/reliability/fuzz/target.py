"""What a fuzzer needs to know of a decoder."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from flockwise.errors import FlockwiseError

Decode = Callable[[bytes, Path], object]


@dataclass(frozen=True)
class Target:
    """A decoder: bytes and a folder of its own in, and out come a value or an error of ours."""

    name: str
    decode: Decode
    seeds: Callable[[], list[bytes]]
    refuses: tuple[type[Exception], ...]  # what it raises on bytes that are nothing
    lines: bool  # whether an error may have several lines, one a fault
    quick: int  # inputs that every change is tried with


TARGETS: dict[str, Target] = {}


def decoder(
    name: str,
    seeds: Callable[[], list[bytes]],
    *,
    refuses: tuple[type[Exception], ...] = (FlockwiseError,),
    lines: bool = False,
    quick: int = 400,
) -> Callable[[Decode], Decode]:
    """Register a decoder; `seeds` makes inputs that it takes."""

    def keep(decode: Decode) -> Decode:
        TARGETS[name] = Target(name, decode, seeds, refuses, lines, quick)
        return decode

    return keep


def all_targets() -> dict[str, Target]:
    """Every decoder by name."""
    from tests.reliability.fuzz import decoders

    for module in sorted(iter_modules(decoders.__path__), key=lambda module: module.name):
        import_module(f"{decoders.__name__}.{module.name}")
    return dict(sorted(TARGETS.items()))
