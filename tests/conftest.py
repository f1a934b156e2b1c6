"""What all tests share."""

import os
from pathlib import Path

import pytest
import torch
from hypothesis import settings

settings.register_profile("any machine", deadline=None)  # a busy machine is no failure
settings.load_profile("any machine")


@pytest.fixture(autouse=True)
def _same_modules_every_time() -> None:
    """A module that a test makes starts with the same weights, whatever ran before it."""
    torch.manual_seed(0)


@pytest.fixture(scope="session")
def data_directory() -> Path:
    """Where the real data sets lie; tests that need them skip where they are not."""
    folder = os.environ.get("FLOCKWISE_DATA")
    if not folder:
        pytest.skip("needs a real data set: set FLOCKWISE_DATA to its directory (flockwise data get mnist)")
    return Path(folder)
