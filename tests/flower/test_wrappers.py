"""Flower's privacy wrappers and SecAgg+ are refused in one line that says what to use."""

import pytest

pytest.importorskip("flwr", reason="needs flockwise[flower]")

from flwr.app import Context, RecordDict
from flwr.serverapp.strategy import (
    DifferentialPrivacyClientSideAdaptiveClipping,
    DifferentialPrivacyClientSideFixedClipping,
    DifferentialPrivacyServerSideAdaptiveClipping,
    DifferentialPrivacyServerSideFixedClipping,
)

from flockwise.errors import InputError
from flockwise.flower import Flocks, StoppedEarly
from flockwise.store import open_run

from . import client_apps as apps
from .fake_grid import FakeGrid, FakeNode


def grid():
    return FakeGrid([FakeNode(p, apps.numpy_app, name=f"site-{p}") for p in range(3)])


@pytest.mark.parametrize(
    "wrapper",
    [
        lambda flocks: DifferentialPrivacyServerSideFixedClipping(flocks, 0.1, 1.0, 3),
        lambda flocks: DifferentialPrivacyClientSideFixedClipping(flocks, 0.1, 1.0, 3),
        lambda flocks: DifferentialPrivacyServerSideAdaptiveClipping(flocks, 0.1, 3),
        lambda flocks: DifferentialPrivacyClientSideAdaptiveClipping(flocks, 0.1, 3),
    ],
)
def test_a_wrapper_for_privacy_is_refused_with_what_to_use(wrapper, tmp_path):
    flocks = Flocks("flic", clients=3, run=tmp_path / "run")
    with pytest.raises(InputError, match="LocalDpMod in the ClientApp") as refused:
        wrapper(flocks).start(grid(), apps.numpy_start(), num_rounds=1)
    assert len(str(refused.value).splitlines()) == 1
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "part", ["configure_train", "aggregate_train", "configure_evaluate", "aggregate_evaluate"]
)
def test_no_part_of_a_strategy_can_be_called_alone(part, tmp_path):
    with pytest.raises(InputError, match="start it by itself"):
        getattr(Flocks("fedavg", clients=2, run=tmp_path), part)(1, None, None, None)


def test_the_workflow_of_secagg_is_refused_with_what_to_use(tmp_path):
    from flwr.server import LegacyContext, ServerConfig
    from flwr.server.workflow.default_workflows import default_init_params_workflow

    context = LegacyContext(
        Context(7, 1, {}, RecordDict(), {}),
        config=ServerConfig(num_rounds=1),
        strategy=Flocks("flic", clients=3, run=tmp_path / "run"),
    )
    with pytest.raises(InputError, match="take secaggplus_mod out of the ClientApp"):
        default_init_params_workflow(grid(), context)  # the first that any workflow does, SecAgg+ included


def test_an_app_that_masks_its_updates_is_named_in_the_runs_error(tmp_path):
    from flwr.client.mod import secaggplus_mod
    from flwr.clientapp import ClientApp

    app = ClientApp(mods=[secaggplus_mod])

    @app.train()
    def train(message, context):
        raise AssertionError("the mod answers first")

    nodes = FakeGrid([FakeNode(p, app, name=f"site-{p}") for p in range(2)])
    with pytest.raises(StoppedEarly, match="masks its updates for SecAgg"):
        Flocks("fedavg", clients=2, run=tmp_path / "run", retries=0).start(
            nodes, apps.numpy_start(), 1, timeout=5
        )
    assert any("take secaggplus_mod out" in event.message for event in open_run(tmp_path / "run").events)
