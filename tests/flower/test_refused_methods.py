"""Methods that cannot be had in a Flower app are refused before anything waits for nodes, in one line that says why."""

import pytest

pytest.importorskip("flwr", reason="needs flockwise[flower]")

from flockwise.errors import ConfigError
from flockwise.flower import Flocks

REFUSED = {"oracle": "is given the groups of a simulated split, which nobody knows in a Flower app"}


@pytest.mark.parametrize("name", REFUSED)
def test_a_method_that_needs_more_than_a_flower_app_has_is_refused(name, tmp_path):
    with pytest.raises(ConfigError) as error:
        Flocks(name, clients=4, run=tmp_path / "run")
    told = str(error.value)
    assert told.startswith(f"strategy.name = '{name}': {REFUSED[name]}") and len(told.splitlines()) == 1
