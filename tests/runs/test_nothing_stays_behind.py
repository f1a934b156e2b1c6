"""A run's data and models go with it: a study of hundreds of runs needs the memory of one."""

import gc
from collections.abc import Iterator

import pytest

import flockwise as fw
from flockwise.data import Federation

BASE = {"rounds": 2, "split": {"name": "label_swap", "clients": 6, "groups": 2}, "engine": {"workers": 1}}
KINDS = {
    "one model": {},
    "torch": {"engine": {"workers": 1, "path": "generic"}},
    "two workers": {"engine": {"workers": 2}},
    "shepherd": {"strategy": {"name": "shepherd"}},
    "own models": {"strategy": {"name": "ditto"}},
    "own heads": {"strategy": {"name": "fedrep"}, "model": {"name": "mlp"}},
    "descriptors": {"strategy": {"name": "pacfl"}},
    "a judge and attackers": {
        "strategy": {"name": "flic", "warmup": 1, "judge": "validation", "rollback": True},
        "attack": {"name": "white-box", "clients": 2},
    },
    "a trigger": {"attack": {"name": "backdoor", "clients": 2}},
    "trust": {"aggregation": {"name": "fltrust"}, "root": {"samples": 20}},
    "recipes of clients": {
        "split": {"name": "kinds", "clients": 6, "swaps": 2, "turns": 1, "samples": 20, "shared": True}
    },
}


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def federations() -> int:
    return sum(type(each) is Federation for each in gc.get_objects())


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_is_over_holds_no_data(kind, tmp_path):
    before = federations()
    fw.run({**BASE, **KINDS[kind]}, out=tmp_path / "run")
    assert federations() == before
