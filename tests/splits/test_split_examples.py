import doctest
import importlib

import pytest

from flockwise.splits import SPLITS


@pytest.mark.parametrize("name", [name for name in SPLITS if SPLITS[name].example is not None])
def test_the_example_of_every_split_runs(name: str) -> None:
    result = doctest.testmod(importlib.import_module(SPLITS[name].function.__module__))
    assert result.attempted > 0 and result.failed == 0
