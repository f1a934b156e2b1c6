"""JSON of a record, of which nothing is believed."""

import json
from typing import Any


def loaded(text: str | bytes) -> Any:
    """What it holds; half a letter (`\\ud800`), which no file and no terminal takes, becomes a question mark.

    A ValueError or RecursionError is raised if it holds nothing.
    """
    text = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    found = json.loads(text)
    if "\\u" not in text:
        return found
    return json.loads(json.dumps(found, ensure_ascii=False).encode("utf-8", "replace"))
