"""The JSON schema of a config, with the options of every piece: for editors."""

from collections.abc import Collection, Mapping
from typing import Any

from flockwise.aggregation import PRE_AGGREGATIONS, RULES
from flockwise.attacks import ATTACKS
from flockwise.config.sections import Config
from flockwise.data import DATASETS, READERS
from flockwise.models import MODELS
from flockwise.notes import OPTIONS_OF, OptionsOf
from flockwise.options import NOT_SET, noted
from flockwise.registry import OWN, Piece
from flockwise.schedules import SCHEDULES
from flockwise.splits import SPLITS
from flockwise.strategies import STRATEGIES
from flockwise.tasks import TASKS

_SECTIONS = {"strategies": "StrategySection", "models": "Model"}  # where a piece inside another is described
_OWN = {"type": "string", "pattern": ":"}  # a user's own piece, module:name


def schema() -> dict[str, Any]:
    """The schema: for a section that names a piece, which options go with which name."""
    whole = Config.model_json_schema()
    sections = whole["$defs"]
    for name, pieces in {
        "Split": SPLITS, "StrategySection": STRATEGIES, "Aggregation": RULES, "PreAggregation": PRE_AGGREGATIONS,
        "Attack": ATTACKS, "Model": MODELS, "ScheduleSection": SCHEDULES,
        "TaskSection": TASKS,
    }.items():  # fmt: skip
        sections[name] = _named(sections[name], pieces)  # type: ignore[arg-type]
    sections["Data"] = _named(sections["Data"], READERS, {OWN, *DATASETS})  # type: ignore[arg-type]
    _none_in_words(whole)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **whole}


def _named(
    section: dict[str, Any], pieces: Mapping[str, Piece], without: Collection[str] = ()
) -> dict[str, Any]:
    """The section's own fields, and one case for each name; those of `without` have no options."""
    own = section["properties"]
    others = {*without, *({"none"} if own["name"].get("default") == "none" else ())}
    cases = [_case(own, {"const": name}, {}) for name in sorted(others)]
    cases += [
        _case(own, {"const": piece.name}, _options(piece)) | _by_neighbour(piece) for piece in pieces.values()
    ]
    cases.append(_case(own, _OWN, None))
    fields = {
        key: value for key, value in section.items() if key not in ("additionalProperties", "properties")
    }
    return {**fields, "properties": own, "oneOf": cases}


def _case(
    own: Mapping[str, Any], name: Mapping[str, Any], options: Mapping[str, Any] | None
) -> dict[str, Any]:
    fields: dict[str, Any] = {key: {} for key in own}
    named = {**fields, "name": dict(name), **(options or {})}
    return {"properties": named, "additionalProperties": options is None}


def _options(piece: Piece) -> dict[str, Any]:
    # A default that is no plain value (an array, a function) has no place in a schema.
    made: dict[str, Any] = piece.options.model_json_schema()
    return {name: _whole(option) for name, option in made.get("properties", {}).items()}


def _whole(option: dict[str, Any]) -> dict[str, Any]:
    """An option that names a piece and holds its options: as the section of such a piece says, or the name alone."""
    section = _SECTIONS.get(option.get(OPTIONS_OF, ""))
    rest = {key: value for key, value in option.items() if key != OPTIONS_OF}
    if section is None:
        return rest
    kinds = [kind for kind in rest.pop("anyOf") if kind.get("type") != "object"]
    return {**rest, "anyOf": [{"$ref": f"#/$defs/{section}"}, *kinds]}


def _by_neighbour(piece: Piece) -> dict[str, Any]:
    """What an option may hold whose meaning hangs on the piece that another option names."""
    cases = []
    for name, note in noted(piece.function, OptionsOf):
        for other, options in note.cases().items():
            chosen: dict[str, Any] = {"properties": {note.of: {"const": other}}}
            if other != piece.defaults.get(note.of):
                chosen["required"] = [note.of]
            known = options.model_json_schema().get("properties", {})
            held = {name: {"properties": known, "additionalProperties": False}}
            cases.append({"if": chosen, "then": {"properties": held}})
    return {"allOf": cases} if cases else {}


def _none_in_words(part: Any) -> None:
    """Wherever null may stand, the word for it may."""
    if isinstance(part, dict):
        if {"type": "null"} in part.get("anyOf", []):
            part["anyOf"] = [*part["anyOf"], {"const": NOT_SET}]
        for value in list(part.values()):
            _none_in_words(value)
    elif isinstance(part, list):
        for value in part:
            _none_in_words(value)
