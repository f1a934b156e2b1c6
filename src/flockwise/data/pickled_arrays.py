"""Reads NumPy arrays, lists, dicts, texts and numbers out of a pickle without unpickling it.

A pickle is a program for a small machine, and Python's own runs whatever the program names. This one only reads the
program's words (`pickletools` decodes them, and does no more), keeps a stack of its own, and knows four names: those
with which NumPy writes an array. Their work is done here, by hand; anything else is refused.
"""

import io
import math
import pickletools
import re
from collections.abc import Callable
from typing import Any

import numpy as np

MARK = object()
MOST_WORDS = 1_000_000
KNOWN = {
    "numpy.core.multiarray _reconstruct", "numpy._core.multiarray _reconstruct", "numpy ndarray", "numpy dtype",
    "_codecs encode",
}  # fmt: skip
PLAIN = {
    "BININT",
    "BININT1",
    "BININT2",
    "BINUNICODE",
    "SHORT_BINUNICODE",
    "BINFLOAT",
    "BINBYTES",
    "SHORT_BINBYTES",
}
_KIND = re.compile(r"[biuf][1248]")


class Name(str):
    """A name of a function or class; nothing is ever looked up by it."""


class Kind:
    """A dtype under way: its letters, and the order of its bytes."""

    def __init__(self, code: str) -> None:
        self.code = code
        self.order = "|"


class Held:
    """An array under way."""

    value: Any = None


def read_pickled(content: bytes) -> Any:
    """What the pickle holds; ValueError for whatever is not plain data."""
    stack: list[Any] = []
    memory: dict[int, Any] = {}
    for count, (word, argument, _) in enumerate(pickletools.genops(io.BytesIO(content))):
        name = word.name
        if count > MOST_WORDS:
            raise ValueError("a pickle of more than a million words")
        if name in PLAIN:
            stack.append(argument)
        elif name in ("BINPUT", "LONG_BINPUT"):
            memory[_number(argument)] = stack[-1]
        elif name in ("BINGET", "LONG_BINGET"):
            stack.append(memory[_number(argument)])
        elif name == "GLOBAL":
            if argument not in KNOWN:
                raise ValueError(f"a pickle that names {str(argument)[:60]!r}, which could do anything")
            stack.append(Name(argument))
        elif name in _WORDS:
            _WORDS[name](stack)
        elif name == "STOP":
            return _plain(stack.pop())
        elif name != "PROTO":
            raise ValueError(f"a pickle with the word {name}, which plain data does not need")
    raise ValueError("a pickle without an end")


def _number(argument: Any) -> int:
    if not isinstance(argument, int):
        raise ValueError("a pickle that remembers without a number")
    return argument


def _until_mark(stack: list[Any]) -> list[Any]:
    found: list[Any] = []
    while stack[-1] is not MARK:
        found.append(stack.pop())
    stack.pop()
    return found[::-1]


def _appends(stack: list[Any]) -> None:
    more = _until_mark(stack)
    stack[-1].extend(more)


def _append(stack: list[Any]) -> None:
    value = stack.pop()
    stack[-1].append(value)


def _set_items(stack: list[Any]) -> None:
    more = _until_mark(stack)
    stack[-1].update(zip(more[::2], more[1::2], strict=True))


def _tuple(count: int) -> Callable[[list[Any]], None]:
    def made(stack: list[Any]) -> None:
        held = tuple(stack[len(stack) - count :])
        del stack[len(stack) - count :]
        stack.append(held)

    return made


def _reduce(stack: list[Any]) -> None:
    """What a call would give: bytes of a text, a dtype, an array still empty."""
    arguments, name = stack.pop(), stack.pop()
    if name == "_codecs encode" and arguments[1:] == ("latin1",):
        stack.append(arguments[0].encode("latin1"))
    elif name == "numpy dtype":
        stack.append(Kind(str(arguments[0])))
    elif isinstance(name, Name) and name.endswith("_reconstruct"):
        stack.append(Held())
    else:
        raise ValueError(f"a pickle that calls {str(name)[:60]!r}")


def _build(stack: list[Any]) -> None:
    """What is set of a dtype (the order of its bytes) or of an array (shape, dtype, content)."""
    state, target = stack.pop(), stack[-1]
    if isinstance(target, Kind):
        target.order = str(state[1])
    elif isinstance(target, Held):
        _, shape, kind, by_columns, data = state
        target.value = _array(shape, kind, bool(by_columns), data)
    else:
        raise ValueError("a pickle that changes an object")


def _array(shape: Any, kind: Any, by_columns: bool, data: Any) -> Any:
    if not isinstance(kind, Kind) or not all(type(size) is int and size >= 0 for size in shape):
        raise ValueError("an array without dtype or shape")
    if kind.code == "O8" and isinstance(data, list) and len(data) == math.prod(shape):
        return data if shape else data[0]
    if not _KIND.fullmatch(kind.code) or kind.order not in "<>|" or not isinstance(data, bytes):
        raise ValueError(f"an array of {kind.code[:20]!r}")
    values = np.frombuffer(data, np.dtype(kind.order.replace("|", "") + kind.code))
    return values.reshape(shape, order="F" if by_columns else "C")


def _plain(value: Any) -> Any:
    """The finished arrays in place of those under way."""
    if isinstance(value, Held):
        return _plain(value.value)
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    return value


_WORDS: dict[str, Callable[[list[Any]], None]] = {
    "MARK": lambda stack: stack.append(MARK),
    "NONE": lambda stack: stack.append(None),
    "NEWTRUE": lambda stack: stack.append(True),
    "NEWFALSE": lambda stack: stack.append(False),
    "EMPTY_LIST": lambda stack: stack.append([]),
    "EMPTY_DICT": lambda stack: stack.append({}),
    "EMPTY_TUPLE": lambda stack: stack.append(()),
    "TUPLE": lambda stack: stack.append(tuple(_until_mark(stack))),
    "TUPLE1": _tuple(1),
    "TUPLE2": _tuple(2),
    "TUPLE3": _tuple(3),
    "APPEND": _append,
    "APPENDS": _appends,
    "SETITEMS": _set_items,
    "REDUCE": _reduce,
    "BUILD": _build,
}
