"""A few inputs for every decoder, the same every time; `python -m tests.reliability.fuzz` tries many more."""

import pytest

pytest.importorskip("flwr", reason="needs flockwise[flower]")
pytest.importorskip("starlette", reason="needs flockwise[dashboard]")

from tests.conftest import Cases
from tests.reliability.fuzz.mutating import mutated
from tests.reliability.fuzz.target import all_targets
from tests.reliability.fuzz.trying import trying

TARGETS = all_targets()


@pytest.mark.parametrize("name", TARGETS)
def test_hostile_bytes_are_a_value_or_a_line(name: str, cases: Cases) -> None:
    target = TARGETS[name]
    with trying(target) as tried:
        for data in mutated(target.seeds(), cases.many(target.quick)):
            tried(data)
    assert not tried.findings, tried.findings
