"""From how many numbers on kernels are compiled: below, nobody waits for a compiler."""

import pytest

from flockwise.kernels.native import loading


def test_two_million_numbers_are_worth_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(loading, "_kernels", lambda: (asked.append(1), ""))
    loading.library((1 << 21) - 1)
    assert not asked
    loading.library(1 << 21)
    assert asked
