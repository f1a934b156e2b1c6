"""A piece is one file: a function and, above it, one decorator with what a reader must know to choose it.

Each kind of piece has a folder. Every file in it is looked into when the kind is first asked for, so that a new file
is all it takes to add a piece: `flockwise list`, configs, their schema, the docs and the shipped tests find it.
"""

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from types import FunctionType, MappingProxyType, ModuleType
from typing import Any, Generic, Self, TypeVar

from pydantic import BaseModel

from flockwise.errors import PluginError
from flockwise.options import options_of, readable_signature, resolved

NO_OPTIONS: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, eq=False, repr=False)
class Piece:
    """A function with its name in configs, a line that says what it is, and where it comes from.

    `given` are the parameters that the run provides; the others are the user's options. `example` are options to
    try it with in the tests that every piece passes; None: their examples do not suit it.
    """

    name: str
    summary: str
    function: Callable[..., Any]
    given: frozenset[str] = frozenset()
    paper: str = ""
    example: Mapping[str, Any] | None = field(default_factory=dict)

    def __post_init__(self) -> None:
        # help(), tab completion and inspect show the function's own name, text and signature
        own = {
            name: getattr(self.function, name, None)
            for name in ("__name__", "__qualname__", "__module__", "__doc__")
        }
        vars(self).update(own, __wrapped__=self.function, __signature__=readable_signature(self.function))

    def __repr__(self) -> str:
        return f"<{self.name}: {self.summary}>"

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call the function."""
        return self.function(*arguments, **options)

    def __get__(self, instance: object, owner: type | None = None) -> Self:
        """Nothing is bound; having it makes help() take the piece for the function that it is."""
        return self

    @property
    def options(self) -> type[BaseModel]:
        """The options as a model, from the signature."""
        return options_of(self.function, self.given)

    @property
    def defaults(self) -> dict[str, Any]:
        """Every option by name with its default; `...` where there is none."""
        return {
            name: ... if field.is_required() else field.default
            for name, field in self.options.model_fields.items()
        }

    def resolved(
        self, values: Mapping[str, Any], prefix: str = "", directory: Any = None, beside: Collection[str] = ()
    ) -> dict[str, Any]:
        """These options checked, and the others at their defaults; users' own pieces are looked for in `directory`."""
        return resolved(self.function, values, self.given, prefix, self.name, directory, beside)


P = TypeVar("P", bound=Piece)


class Registry(Mapping[str, P], Generic[P]):
    """The pieces of one kind by name: those of every file in a package's folder."""

    def __init__(self, package: str) -> None:
        self._package = package
        self._pieces: dict[str, P] = {}
        self._looked = False

    def add(self, piece: P) -> P:
        """Register a piece of the folder; the decorators do this. One of a user's goes by module:name instead."""
        if self._owns(piece):
            before = self._pieces.get(piece.name, piece)
            if _place(before) != _place(piece):
                raise PluginError(f"{piece.name!r} is the name of both {_place(before)} and {_place(piece)}")
            self._pieces[piece.name] = piece
        return piece

    def __getitem__(self, name: str) -> P:
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def _all(self) -> dict[str, P]:
        if not self._looked:
            self._looked = True
            try:
                self._look_into(importlib.import_module(self._package))
            except BaseException:
                self._looked = False  # or the next one to ask would be given a part of them
                raise
        return self._pieces

    def _look_into(self, folder: ModuleType) -> None:
        for module in sorted(pkgutil.iter_modules(folder.__path__), key=lambda found: found.name):
            if not module.ispkg:
                loaded = importlib.import_module(f"{self._package}.{module.name}")
                piece = getattr(loaded, module.name, None)
                if vars(folder).get(module.name) is loaded and callable(piece):
                    setattr(
                        folder, module.name, piece
                    )  # also of another registry of this folder: the file would hide it
        self._pieces = dict(sorted(self._pieces.items()))
        for function in (piece.function for piece in self._pieces.values()):
            if isinstance(
                vars(folder).get(function.__name__), ModuleType | None
            ):  # or the file would hide its piece
                found = getattr(sys.modules[function.__module__], function.__name__, function)
                setattr(folder, function.__name__, found)

    def _owns(self, piece: P) -> bool:
        return piece.function.__module__.startswith(f"{self._package}.")


def _place(piece: Piece) -> str:
    return f"{piece.function.__module__}:{piece.function.__qualname__}"


OWN = "own"  # what a config calls a piece that only Python can make again


def config_name(function: Callable[..., Any]) -> str:
    """The name in configs of a function or class: trimmed_mean is trimmed-mean, one of a user's is module:name.

    One that cannot be found by such a name (made inside another function) is the user's own.
    """
    module, name = getattr(function, "__module__", ""), getattr(function, "__qualname__", "<unnamed>")
    if module.partition(".")[0] == "flockwise":
        return function.__name__.replace("_", "-")
    return OWN if "<" in name or "." in name else f"{module}:{name}"


def first_parameters(function: Callable[..., Any], count: int) -> frozenset[str]:
    """The names of a function's first parameters; those that go by name alone are options, wherever they stand."""
    named = inspect.signature(function).parameters.items()
    return frozenset([name for name, part in named if part.kind is not part.KEYWORD_ONLY][:count])


def sayable(value: Any) -> bool:
    """Whether a config can name an option: an object of the user's own with its state cannot be made again from words."""
    if isinstance(value, Mapping):
        return all(map(sayable, value.values()))
    if isinstance(value, list | tuple | set | frozenset):
        return all(map(sayable, value))
    if value is None or isinstance(value, str | bool | int | float | Piece):
        return True
    return isinstance(value, type | FunctionType) and config_name(value) != OWN
