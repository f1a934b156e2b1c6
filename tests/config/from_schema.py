"""Configs drawn from the JSON schema: mostly as it says, now and then not."""

from collections.abc import Mapping
from typing import Any

import numpy as np

ODD: tuple[Any, ...] = (
    None, True, -1, 0, 3, 2**40, 10**30, -0.5, 1e308, float("nan"), float("inf"), "", "x", "auto", "none", "a\nb",
    "\x1b[31m", "../..", "9" * 400, [], [1, "x"], [[[]]], {}, {"name": 5}, {"x": {"y": 1}}, "\u202e", b"bytes",
)  # fmt: skip


class Drawing:
    """Values drawn from a schema; each is odd with a chance of `wrong`."""

    def __init__(self, schema: Mapping[str, Any], random: np.random.Generator, wrong: float = 0.03) -> None:
        self.schema, self.random, self.wrong = schema, random, wrong

    def config(self) -> dict[str, Any]:
        """A whole config."""
        found = self.draw(self.schema, 0.35)
        return found if isinstance(found, dict) else {"rounds": found}

    def draw(self, node: Any, often: float = 0.35) -> Any:
        """A value for this part of the schema; what may be left out is there that often."""
        if self.random.random() < self.wrong or not isinstance(node, Mapping):
            return self.one_of(ODD)
        if "$ref" in node:
            return self.draw(self.schema["$defs"][node["$ref"].rpartition("/")[2]], often)
        if "const" in node or "enum" in node:
            return self.one_of(node.get("enum") or [node["const"]])
        if "anyOf" in node:
            return self.draw(self.one_of(node["anyOf"]), often)
        kind = node.get("type")
        kind = self.one_of(kind) if isinstance(kind, list) else kind
        if kind == "object" or "properties" in node:
            return self._object(node, often)
        if kind == "array":
            return [self.draw(node.get("items", {}), often) for _ in range(int(self.random.integers(0, 4)))]
        if kind in ("integer", "number"):
            return self._number(node, kind)
        return {"boolean": bool(self.random.random() < 0.5), "string": self.one_of(("digits", "fedavg", "x", "run 1"))}.get(
            kind or ""
        )  # fmt: skip

    def _object(self, node: Mapping[str, Any], often: float) -> dict[str, Any]:
        properties = dict(node.get("properties", {}))
        needed = set(node.get("required", ()))
        if node.get("oneOf"):  # one piece by name, with its options
            branch = self.one_of(node["oneOf"])
            properties |= branch.get("properties", {})
            needed |= set(branch.get("required", ())) | ({"name"} & set(properties))
        found = {
            name: self.draw(part)
            for name, part in properties.items()
            if name in needed or self.random.random() < often
        }
        if properties and self.random.random() < self.wrong:  # a key that nobody knows, or a slip of one
            slip = self.one_of(list(properties))
            found[self.one_of((slip[:-1], slip + "s", slip.upper(), "nonsense", "", "a.b"))] = 1
        return found

    def _number(self, node: Mapping[str, Any], kind: str) -> int | float:
        low = node.get("minimum", node.get("exclusiveMinimum", -3))
        high = node.get("maximum", node.get("exclusiveMaximum", low + self.one_of((1, 5, 50))))
        if kind == "integer":
            return int(self.random.integers(int(low), max(int(high), int(low)) + 1))
        return float(self.random.uniform(low, max(high, low)))

    def one_of(self, these: Any) -> Any:
        """Any of them."""
        return these[int(self.random.integers(len(these)))]
