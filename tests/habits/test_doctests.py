"""The examples in docstrings show what the code does."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import flockwise

SOURCE = Path(flockwise.__file__).parent
FILES = sorted(file for file in SOURCE.rglob("*.py") if ">>> " in file.read_text(encoding="utf-8"))


def _module(file: Path) -> str:
    parts = file.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_there_are_examples_that_run() -> None:
    found = [one for file in FILES for one in doctest.DocTestParser().get_examples(file.read_text("utf-8"))]
    assert [one for one in found if not one.options.get(doctest.SKIP)]


@pytest.mark.parametrize("name", [_module(file) for file in FILES])
def test_the_examples_of_the_module_hold(name: str) -> None:
    assert doctest.testmod(import_module(name)).failed == 0
