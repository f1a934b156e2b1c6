import doctest
import importlib

import pytest

from flockwise.splits import SPLITS


@pytest.mark.parametrize("name", sorted(SPLITS.keys() - {"by_writer"}))  # by_writer needs data with writers
def test_the_example_of_every_split_runs(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"flockwise.splits.{name}"))
    assert result.attempted > 0 and result.failed == 0
