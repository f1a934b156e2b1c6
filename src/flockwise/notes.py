"""What an option's annotation may say beside its type and its text, for whoever reads the signature.

first: Annotated[Count, AtRound(), "the first round in which flocks are looked for"] = 5
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pydantic import BaseModel, GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationInfo
from pydantic_core import CoreSchema, core_schema

OPTIONS_OF = "x-options-of"  # how a schema says whose options an option holds


@dataclass(frozen=True)
class AtRound:
    """The option is the number of a round, or `later` less than it. A run may end before."""

    later: int = 0


@dataclass(frozen=True)
class Names:
    """The option may name a piece of this kind, also a user's own as module:name beside the config."""

    kind: str


@dataclass(frozen=True)
class AtMostClients:
    """Where the option is a number, there can be no more of them than clients."""


@dataclass(frozen=True)
class Shapes:
    """What a run remembers (the slot of this name) has a shape that follows from the option: it cannot change on the way."""

    memory: str


@dataclass(frozen=True)
class Needs:
    """With these values (with any, if none are named) the option needs a field of the config to be set; `why` says so."""

    field: str
    why: str
    values: tuple[Any, ...] = ()

    def asked_by(self, value: Any) -> bool:
        """Whether this value is one of them."""
        return value in self.values if self.values else value not in (None, False)


class Only:
    """The option counts only where others have one of these values: `Only(when="every")`. Elsewhere it would be ignored."""

    def __init__(self, **values: Any) -> None:
        self.values = {
            name: value if isinstance(value, tuple) else (value,) for name, value in values.items()
        }

    def missing(self, options: Mapping[str, Any]) -> tuple[str, tuple[Any, ...]] | None:
        """The first option that makes this one count for nothing, with what it would have to be."""
        return next(((name, wanted) for name, wanted in self.values.items()
                     if name in options and not _among(options[name], wanted)), None)  # fmt: skip


def _among(value: Any, wanted: Collection[Any]) -> bool:
    return any(type(value) is type(one) and value == one for one in wanted)


class Around(NamedTuple):
    """What there is to know around an option: its name in messages, the options before it, where users' own files lie."""

    name: str = ""
    options: Mapping[str, Any] = {}
    directory: Any = None


@dataclass(frozen=True)
class OptionsOf:
    """The option holds options of another piece; `in_full` checks them and fills in those that were left out.

    So a run's config has them all, and a default that changes later does not change the run. `of` is the kind of piece,
    where the option names it itself, as {name = "mlp", hidden = 32}; or the option beside it that does, and then `cases`
    are the options of each piece that it may name.
    """

    of: str
    in_full: Callable[[Any, Around], Any] = field(compare=False)
    cases: Callable[[], Mapping[str, type[BaseModel]]] = field(default=dict, compare=False)

    def __get_pydantic_core_schema__(self, kind: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_after_validator_function(self._checked, handler(kind))

    def __get_pydantic_json_schema__(self, kind: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {**handler(kind), OPTIONS_OF: self.of}

    def _checked(self, value: Any, info: ValidationInfo) -> Any:
        said = info.context or {}
        name = f"{said.get('prefix', '')}{info.field_name}"
        return self.in_full(value, Around(name, info.data, said.get("directory")))
