"""The options of a function, read from its signature: the one source for checks, defaults, schemas and help.

    def trimmed_mean(updates, trim: Annotated[float, Field(ge=0, lt=0.5), "fraction dropped at each end"] = 0.1): ...

A bare string in `Annotated` says what the option is for. An option that may be None can be written "none" in a
TOML file, which has no word for it.
"""

import functools
import inspect
import typing
import warnings
from collections.abc import Callable, Collection, Mapping
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, create_model
from pydantic.fields import FieldInfo

from flockwise.errors import ConfigError
from flockwise.notes import AtRound, Only, OptionsOf
from flockwise.plugins import nearest

NOT_SET = "none"  # how None is written in TOML

Count = Annotated[int, Field(ge=1)]
Natural = Annotated[int, Field(ge=0)]
Several = Annotated[int, Field(ge=2)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1)]

M = TypeVar("M", bound=BaseModel)
N = TypeVar("N")


@functools.cache
def options_of(function: Callable[..., Any], given: frozenset[str] = frozenset()) -> type[BaseModel]:
    """The options of a function as a model; `given` are the parameters that do not come from a user."""
    hints = _hints(function)
    fields: dict[str, Any] = {}
    open_ended = False
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            open_ended = True
        elif name not in given and parameter.kind is not parameter.VAR_POSITIONAL:
            default: Any = ... if parameter.default is parameter.empty else parameter.default
            kind = _described(_understood(hints.get(name, Any), default))
            if any(
                isinstance(note, OptionsOf) for note in _notes(hints.get(name))
            ):  # its default has options too
                default = Field(default, validate_default=True)
            fields[name] = (kind, default)
    settings = ConfigDict(
        extra="allow" if open_ended else "forbid",
        protected_namespaces=(),
        allow_inf_nan=False,
        arbitrary_types_allowed=True,
        frozen=True,
        strict=True,
    )
    with (
        warnings.catch_warnings()
    ):  # of an option that a method of pydantic's is called like: `copy` of an estimator
        warnings.filterwarnings("ignore", "Field name .* shadows", UserWarning)
        model: type[BaseModel] = create_model(
            getattr(function, "__name__", "Options"), __config__=settings, **fields
        )
    return model


def resolved(
    function: Callable[..., Any],
    values: Mapping[str, Any],
    given: frozenset[str] = frozenset(),
    prefix: str = "",
    name: str = "",
    directory: Any = None,
    beside: Collection[str] = (),
) -> dict[str, Any]:
    """Checked values with the defaults filled in, ready to call the function with; `name` is who needs them.

    `directory` is where pieces of a user's own are looked for, if the options name some; `beside` are keys of the section
    that are not the function's: an unknown one may be a slip of them.
    """
    who = name or getattr(function, "__name__", "")
    model = validated(options_of(function, given), values, prefix, who, directory, beside)
    return {name: getattr(model, name) for name in [*type(model).model_fields, *(model.model_extra or {})]}


def noted(function: Callable[..., Any], kind: type[N]) -> list[tuple[str, N]]:
    """The notes of this kind in a function's annotations, each with its option."""
    hints = _hints(function).items()
    return [(name, note) for name, hint in hints for note in _notes(hint) if isinstance(note, kind)]


def rounds_named(function: Callable[..., Any]) -> dict[str, int]:
    """The options of a function that are numbers of rounds, each with how much later it takes effect."""
    return {name: note.later for name, note in noted(function, AtRound)}


def ignored(
    function: Callable[..., Any], values: Mapping[str, Any], defaults: Mapping[str, Any]
) -> dict[str, str]:
    """The options that count for nothing beside the others, each with why; what is at its default is never told."""
    found = {}
    for name, note in noted(function, Only):
        missing = note.missing(values)
        if missing is not None and name in values and values[name] != defaults.get(name):
            other, wanted = missing
            choices = " or ".join(repr(value) for value in wanted)
            found[name] = (
                f"does nothing with {other} = {shown(values[other])}; leave it out, or choose {other} = {choices}"
            )
    return found


def written(value: Any) -> Any:
    """A resolved value as a config file writes it; pieces are written by their names."""
    if value is None:
        return NOT_SET
    if isinstance(value, Mapping):
        return {key: written(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [written(item) for item in value]
    if isinstance(value, str | bool | int | float):
        return value
    return (
        getattr(value, "name", None)
        or f"{value.__module__}:{getattr(value, '__qualname__', type(value).__name__)}"
    )


def validated(
    model: type[M],
    values: Mapping[str, Any],
    prefix: str = "",
    name: str = "",
    directory: Any = None,
    beside: Collection[str] = (),
) -> M:
    """The validated model, or a ConfigError with a line per fault: field, value, rule, nearest valid name."""
    try:
        return model.model_validate(dict(values), context={"prefix": prefix, "directory": directory})
    except ValidationError as error:
        faults: dict[str, list[str]] = {}
        for fault in error.errors():
            field, message = _line(model, fault, prefix, name, beside)
            faults.setdefault(field, []).append(message)
        # A field that may be of several kinds has a message for each of them.
        lines = [f"{field}: {', or '.join(dict.fromkeys(told))}" for field, told in sorted(faults.items())]
        raise ConfigError("\n".join(lines)) from None


def shown(value: Any) -> str:
    """A value as it may appear in a message: short, and without control characters."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def named(key: object) -> str:
    """A key as it may appear in a message: quoted if it is empty or holds spaces or control characters."""
    text = str(key)
    return text if text and text.isprintable() and " " not in text else repr(text)


def may_be_none(annotation: Any) -> bool:
    """Whether None is one of the values an annotation allows."""
    if typing.get_origin(annotation) is Annotated:
        return may_be_none(typing.get_args(annotation)[0])
    return annotation is type(None) or any(map(may_be_none, typing.get_args(annotation)))


def none_in_words(annotation: Any) -> Any:
    """The annotation, with the word for None understood too."""
    return Annotated[annotation, BeforeValidator(lambda value: None if value == NOT_SET else value)]


def readable_signature(function: Callable[..., Any]) -> inspect.Signature:
    """The signature as help() may show it: types without bounds and descriptions."""
    signature = inspect.signature(function)
    try:
        kinds = typing.get_type_hints(_called(function))
    except (NameError, TypeError):
        return signature
    parameters = [
        parameter.replace(annotation=kinds.get(name, parameter.annotation))
        for name, parameter in signature.parameters.items()
    ]
    return signature.replace(parameters=parameters)


def plain(value: Any) -> Any:
    """Numbers and arrays of NumPy as Python's own; everything else as it is."""
    return value.tolist() if hasattr(value, "tolist") else value


def _called(function: Callable[..., Any]) -> Callable[..., Any]:
    """What runs, and has the types, when a function or a class is called."""
    return function.__init__ if isinstance(function, type) else function  # type: ignore[misc, no-any-return]


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(_called(function), include_extras=True)
    except (NameError, TypeError):  # names that only a type checker knows: the others still count
        told = getattr(_called(function), "__annotations__", {})
        return {name: hint for name, hint in told.items() if not isinstance(hint, str)}


def _notes(annotation: Any) -> tuple[Any, ...]:
    return typing.get_args(annotation)[1:] if typing.get_origin(annotation) is Annotated else ()


def _understood(annotation: Any, default: Any) -> Any:
    """What a parameter takes: None too, where it says nothing or None is its default."""
    nothing_said = annotation is Any or (default is None and not may_be_none(annotation))
    return typing.Optional[annotation] if nothing_said else annotation  # noqa: UP045  also of Annotated


def _described(annotation: Any) -> Any:
    """Bare strings become descriptions; None may be written in words."""
    if typing.get_origin(annotation) is not Annotated:
        return none_in_words(annotation) if may_be_none(annotation) else annotation
    kind, *notes = typing.get_args(annotation)
    told = [note for note in notes if isinstance(note, str)]
    rest = [note for note in notes if not isinstance(note, str)]
    kind = functools.reduce(lambda inner, note: Annotated[inner, note], rest, kind)
    described = Annotated[kind, Field(description="; ".join(told))] if told else kind
    return none_in_words(described) if may_be_none(kind) else described


def _line(
    model: type[BaseModel], fault: Any, prefix: str, needed_by: str, beside: Collection[str] = ()
) -> tuple[str, str]:
    # Union alternatives appear in the location as type names; the field path is what precedes them.
    path, here = [], model
    for part in fault["loc"]:
        fields: dict[str, FieldInfo] = {}
        if isinstance(here, type) and issubclass(here, BaseModel):
            fields = here.model_fields
        if part in fields:
            path.append(str(part))
            inner = fields[str(part)].annotation
            here = inner if isinstance(inner, type) else object  # type: ignore[assignment]
        elif fault["type"] == "extra_forbidden":
            name = ".".join([*path, named(part)])
            known = [*fields, *(beside if here is model else ())]
            hint = nearest(str(part), known) if known else "it takes none"
            return f"{prefix}{name} = {shown(fault['input'])}", f"unknown key; {hint}"
        elif isinstance(part, int):
            path.append(str(part))
    if fault["type"] == "missing":
        field = ".".join([*path, *([] if path else [str(fault["loc"][-1])])])
        return prefix + field, f"is needed{f' by {needed_by}' if needed_by else ''}, and has no default"
    return f"{prefix}{'.'.join(path)} = {shown(fault['input'])}", _told(fault)


_RULES = {  # in our own words: every message says what a value must be
    "greater_than_equal": "must be at least {ge}",
    "greater_than": "must be above {gt}",
    "less_than_equal": "must be at most {le}",
    "less_than": "must be below {lt}",
    "literal_error": "must be {expected}",
    "finite_number": "must be a finite number",
    "string_type": "must be a word",
    "none_required": 'must be "none"',
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "must be a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "must be a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "must be true or false"),
    **dict.fromkeys(("list_type", "tuple_type", "sequence_str"), "must be a list"),
    **dict.fromkeys(
        ("dict_type", "model_type", "model_attributes_type"), "must be a section, such as {{name = ...}}"
    ),
}


def _told(fault: Any) -> str:
    rule = _RULES.get(fault["type"])
    if fault["type"] == "is_instance_of":
        kind = fault["ctx"]["class"]
        return "must be a list" if kind == "Sequence" else f"must be of the type {kind}"
    if fault["type"] == "value_error":  # of a validator of ours
        return str(fault["ctx"]["error"])
    if rule is None:
        return str(fault["msg"][0].lower() + fault["msg"][1:])
    return rule.format(**{key: _number(value) for key, value in fault.get("ctx", {}).items()})


def _number(value: Any) -> Any:
    return f"{value:g}" if isinstance(value, float) else value
