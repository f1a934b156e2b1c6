"""What all tests share."""

import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("any machine", deadline=None)  # a busy machine is no failure
settings.load_profile("any machine")


@pytest.fixture(autouse=True)
def _same_modules_every_time() -> None:
    """A module that a test makes starts with the same weights, whatever ran before it."""
    with suppress(ModuleNotFoundError):  # `.ci/extended pythons` has no torch
        import torch

        torch.manual_seed(0)


class Cases:
    """How many cases one test tries: kills, faults, flips. `make reliability` counts them, and may ask for more."""

    def __init__(self, node: pytest.Item, times: int) -> None:
        self._node, self._times, self._tried = node, times, 0

    @property
    def full(self) -> bool:
        """Whether more is asked for than every change is tried with: what takes long is tried as a whole."""
        return self._times > 1

    def many(self, usual: int, most: int | None = None) -> int:
        """So many times as usual as was asked for, if there are as many; they are counted."""
        number = min(usual * self._times, usual * self._times if most is None else most)
        self.count(number)
        return number

    def count(self, number: int) -> None:
        """So many cases more were tried."""
        told = self._node.user_properties
        self._node.user_properties = [(name, value) for name, value in told if name != "cases"]
        self._tried += number
        self._node.user_properties.append(("cases", self._tried))

    def measure(self, what: str, value: float) -> None:
        """A number that was measured along the way: what is measured is on the page, beside the count."""
        self._node.user_properties.append((f"measured {what}", float(value)))


@pytest.fixture
def cases(request: pytest.FixtureRequest) -> Cases:
    """Counts what a test tries."""
    return Cases(request.node, request.config.getoption("--times", 1))


@pytest.fixture(scope="session")
def data_directory() -> Path:
    """Where the real data sets lie; tests that need them skip where they are not."""
    folder = os.environ.get("FLOCKWISE_DATA")
    if not folder:
        pytest.skip("needs a real data set: set FLOCKWISE_DATA to its directory (flockwise data get mnist)")
    return Path(folder)
