"""Methods that cannot be had in a Flower app are refused before anything waits for nodes, in one line that says why."""

import pytest

pytest.importorskip("flwr", reason="needs flockwise[flower]")

from flockwise.config import parse_config
from flockwise.errors import ConfigError
from flockwise.flower import Flocks
from flockwise.flower.worker_needs import check_nodes_can
from flockwise.runs.federating import make_work
from flockwise.strategies import STRATEGIES

PERSONAL = "what clients keep and how they train is up to the ClientApp"
REFUSED = {
    "oracle": "is given the groups of a simulated split, which nobody knows in a Flower app",
    **dict.fromkeys(
        ["pacfl", "flux"], "clients tell something of their data, whose size is not known here; say it with"
    ),
    **dict.fromkeys(["fedper", "fedrep", "fedbabu", "ditto", "apfl", "fedsoft"], PERSONAL),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_method_that_needs_more_than_a_flower_app_has_is_refused(name, tmp_path):
    with pytest.raises(ConfigError) as error:
        Flocks(name, clients=4, run=tmp_path / "run")
    told = str(error.value)
    assert told.startswith(f"strategy.name = '{name}': {REFUSED[name]}") and len(told.splitlines()) == 1


@pytest.mark.parametrize("name", ["fedper", "ditto"])
def test_nodes_that_keep_nothing_cannot_have_personal_methods(name):
    config = parse_config({"strategy": {"name": name}, "model": {"name": "mlp"}})
    with pytest.raises(
        ConfigError, match=r"^strategy.name: a Flower node keeps nothing between rounds, so clients cannot"
    ):
        check_nodes_can(make_work(config, None, None, personal=STRATEGIES[name]().personal))


@pytest.mark.parametrize(
    "options", [{"strategy": "pacfl", "features": 64, "classes": 10}, {"strategy": "flux", "classes": 10}]
)
def test_once_it_is_known_how_much_clients_tell_they_may(options, tmp_path):
    Flocks(**options, clients=4, run=tmp_path / "run")
