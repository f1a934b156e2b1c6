"""What there is to say about one piece: facts, text, and its options in words."""

import inspect
import json
import re
from dataclasses import fields, is_dataclass
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from flockwise.options import written
from flockwise.registry import Piece

_KINDS = {"integer": "whole number", "number": "number", "boolean": "true or false", "string": "text", "null": "none",
          "object": "table"}  # fmt: skip
_BOUNDS = {
    "minimum": "at least",
    "exclusiveMinimum": "above",
    "maximum": "at most",
    "exclusiveMaximum": "below",
}
_SAID = {"name", "summary"}


def described(name: str, piece: Any) -> dict[str, Any]:
    """Name, summary, every fact that is a word or a number, and the text that stands in the code."""
    text = (inspect.getdoc(getattr(piece, "function", piece)) or "").partition("\n>>>")[0].strip()
    if not hasattr(piece, "summary"):  # a plug-in's own function
        return {
            "name": name,
            "summary": text.partition("\n")[0] or "a plug-in",
            "text": text.partition("\n")[2].strip(),
        }
    facts = {field.name: getattr(piece, field.name) for field in fields(piece)} if is_dataclass(piece) else {}
    shown = {key: value for key, value in facts.items() if _is_told(value) and key not in _SAID}
    own = text if isinstance(piece, Piece) else ""
    return {"name": piece.name, "summary": piece.summary, **shown, "text": own}


def option_rows(piece: Any) -> list[dict[str, str]]:
    """A row per option: name, type in words, default as a config writes it, what it is for."""
    if not isinstance(piece, Piece):
        return []
    schema = piece.options.model_json_schema(schema_generator=_Lenient)
    known = schema.get("$defs", {})
    return [
        {
            "option": name,
            "type": _words(schema["properties"][name], known),
            "default": "needed" if default is ... else json.dumps(written(default), default=str),
            "what it is for": piece.options.model_fields[name].description or "",
        }
        for name, default in piece.defaults.items()
    ]


class _Lenient(GenerateJsonSchema):
    """Options that are functions or objects, which JSON cannot describe, may be anything here."""

    def handle_invalid_for_json_schema(self, schema: Any, error_info: str) -> JsonSchemaValue:
        return {}


def _is_told(value: Any) -> bool:
    sizes = isinstance(value, tuple) and all(isinstance(item, int) for item in value)
    return (
        value not in ("", ())
        and not isinstance(value, bool)
        and (isinstance(value, str | int | float) or sizes)
    )


def _words(schema: dict[str, Any], known: dict[str, Any]) -> str:
    if "$ref" in schema:
        return _words(known[schema["$ref"].rpartition("/")[2]], known)
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_words(option, known) for option in schema["anyOf"]))
    if "enum" in schema or "const" in schema:
        return " or ".join(json.dumps(value) for value in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        return "list of " + re.sub(r"\b(number|list)\b", r"\1s", _words(schema.get("items", {}), known))
    bounds = [f"{word} {schema[bound]:g}" for bound, word in _BOUNDS.items() if bound in schema]
    return ", ".join([_KINDS.get(schema.get("type", ""), "any"), *bounds])
