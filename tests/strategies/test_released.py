"""Who was set apart by mistake and is released comes back to its own flock, whatever the method."""

import numpy as np
import pytest
from tests.strategies.playing import BASE

from flockwise.config import parse_config
from flockwise.runs.assembly import assemble
from flockwise.runs.loop import one_round

METHODS = {
    "fedclust": {"min_separation": 0.0},
    "cfl-gp": {"every": 2, "last": 4},
    "fesem": {},
    "custom": {"first": 4, "when": "once"},
}


@pytest.mark.parametrize("name", METHODS)
def test_a_released_client_is_with_its_own_kind_again(name: str) -> None:
    split = {"name": "label_swap", "clients": 12, "groups": 2}
    training = {"epochs": 5, "learning_rate": 0.1}
    config = parse_config(
        {**BASE, "split": split, "training": training, "strategy": {"name": name, **METHODS[name]}}
    )
    parts = assemble(config)
    try:
        for _ in range(6):
            one_round(parts.server, parts.engine, parts.hazards)
        before = parts.server.state.labels.copy()
        smaller = int(np.bincount(before).argmin())
        client = int(np.flatnonzero(before == smaller)[0])
        parts.server.quarantine(client)
        one_round(parts.server, parts.engine, parts.hazards)
        parts.server.release(client)
        for _ in range(3):
            one_round(parts.server, parts.engine, parts.hazards)
    finally:
        parts.engine.close()
    now = parts.server.state.labels
    assert len(set(before.tolist())) == 2
    kin = now[(before == smaller) & (np.arange(12) != client)]
    assert set(kin.tolist()) == {now[client]}
