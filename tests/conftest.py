"""What all tests share."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_directory() -> Path:
    """Where the real data sets lie; tests that need them skip where they are not."""
    folder = os.environ.get("FLOCKWISE_DATA")
    if not folder:
        pytest.skip("needs a real data set: set FLOCKWISE_DATA to its directory (flockwise data get mnist)")
    return Path(folder)
