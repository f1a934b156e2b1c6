"""A run whose rule, step before it, or method remembers clients goes on to the same bits after a stop."""

import numpy as np
import pytest

import flockwise as fw
from flockwise.stages.parole import _SENTENCES
from flockwise.stages.state import State

from .small import fingerprint, with_changes

REMEMBERING = {
    "foolsgold behind momentum": {"aggregation": {"name": "foolsgold", "before": ["momentum"]}},
    "fldetector": {"aggregation": {"name": "fldetector", "window": 2}},
    "parole": {
        "strategy": {"name": "shepherd", "parole_after": 3},
        "attack": {"name": "reverse", "clients": 2, "scale": 3.0}, "sampling": {"fraction": 1.0}, "faults": {"dropout": 0.0},
    },
}  # fmt: skip


def config(kind):
    changes = REMEMBERING[kind]
    made = with_changes(**{name: section for name, section in changes.items() if name != "strategy"})
    return {**made, "rounds": 14, **({"strategy": changes["strategy"]} if "strategy" in changes else {})}


@pytest.mark.parametrize("kind", REMEMBERING)
def test_a_stopped_run_goes_on_to_the_same_bits(kind, tmp_path):
    whole = fw.run(config(kind), out=tmp_path / "whole")
    rounds = iter(range(1, 99))
    fw.run(config(kind), out=tmp_path / "parts", stop=lambda: next(rounds) == 6)
    fw.resume(tmp_path / "parts")
    assert fingerprint(tmp_path / "parts") == fingerprint(tmp_path / "whole")
    assert np.isfinite(whole.checkpoint()["models"]).all()
    remembered = {name.split("/")[1] for name in whole.checkpoint() if name.startswith("memory/")}
    assert ("sentences" if kind == "parole" else "rule") in remembered
    if kind == "parole":
        assert _SENTENCES.get(State.from_arrays(whole.checkpoint())).times.max() > 0


def test_reports_of_clients_that_turn_go_on_to_the_same_bits(tmp_path):
    """What a client had told before it was poisoned was told again after, but not by a process that began later."""
    turns = {
        **with_changes(attack={"name": "label-flip", "clients": [0, 1], "first_round": 3}, sampling={"fraction": 1.0}),
        "strategy": {"name": "pacfl"}, "rounds": 5,
    }  # fmt: skip
    fw.run(turns, out=tmp_path / "whole")
    rounds = iter(range(1, 99))
    fw.run(turns, out=tmp_path / "parts", stop=lambda: next(rounds) == 2)
    fw.resume(tmp_path / "parts")
    assert fingerprint(tmp_path / "parts") == fingerprint(tmp_path / "whole")
