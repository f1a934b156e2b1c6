"""As much of Helm's templates as ours use: values, conditions, `quote` and `printf`. Anything else is an error."""

import json
import re
from collections.abc import Mapping
from typing import Any

_TAG = re.compile(r"\{\{(-?)\s*(.*?)\s*(-?)\}\}", re.S)


def rendered(text: str, values: Mapping[str, Any], release: str = "fl") -> str:
    """The template with these values."""
    known = {"Values": values, "Release": {"Name": release}}
    parts, place, writing = [], 0, [True]
    for tag in _TAG.finditer(text):
        before = text[place : tag.start()]
        if writing[-1]:
            parts.append(before.rstrip() if tag.group(1) else before)
        word, place = tag.group(2), tag.end()
        if word.startswith("if "):
            writing.append(writing[-1] and bool(looked_up(word.removeprefix("if "), known)))
        elif word == "end":
            writing.pop()
        elif writing[-1]:
            parts.append(_value(word, known))
    assert writing == [True], "an if without its end"
    return "".join([*parts, text[place:]])


def _value(word: str, known: Mapping[str, Any]) -> str:
    start, _, filter_ = (part.strip() for part in word.partition("|"))
    formatted = re.fullmatch(r'printf "([^"%]*)%s" (\.[A-Za-z.]+)', start)
    found = formatted[1] + str(looked_up(formatted[2], known)) if formatted else looked_up(start, known)
    assert filter_ in ("", "quote"), f"{word}: not a template that this can make"
    return json.dumps(str(found)) if filter_ else str(found)


def looked_up(path: str, known: Mapping[str, Any]) -> Any:
    """A value by its path; one that values.yaml does not have is an error, not an empty string."""
    assert re.fullmatch(r"(\.[A-Za-z]+)+", path), f"{path}: not a template that this can make"
    found: Any = known
    for name in path.strip(".").split("."):
        found = found[name]
    return found
