"""Flower's own simulation, with Ray."""

import gc
import os

import numpy as np
import pytest

pytest.importorskip("flwr", reason="needs flockwise[flower]")
pytest.importorskip("ray", reason="Ray is not installed: pip install 'flockwise[flower-simulation]'")

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

import flockwise
from flockwise.flower import Flocks, FlowerSimulation
from flockwise.flower.command import QUIET
from flockwise.store import open_run

from . import client_apps as apps
from .test_engine import BASE, STRATEGIES, assert_same

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(autouse=True)
def quiet(monkeypatch, tmp_path):
    for name, value in {**QUIET, "FLWR_HOME": str(tmp_path / "flwr")}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))  # Flower changes it for Ray
    yield
    gc.collect()  # Ray leaves files open; told here, where warnings are ignored, and not at the end of all tests


def test_a_config_on_ray_gives_the_same_bits_as_the_local_engine(tmp_path):
    config = {**BASE, **STRATEGIES["ifca"]}
    local = flockwise.run(config, out=tmp_path / "local")
    ray = flockwise.run({**config, "engine": {**BASE["engine"], "name": "flower", "workers": 2, "timeout": 300}},
                        out=tmp_path / "ray")  # fmt: skip
    assert_same(local, ray)


@pytest.mark.extended
def test_python_objects_on_ray_give_the_same_bits_as_the_local_engine(tmp_path):
    clients = flockwise.splits.label_swap(flockwise.data.digits(), clients=6, groups=2, seed=3)
    given = {"model": flockwise.models.softmax, "rounds": 2}
    method = flockwise.flic(warmup=1, rule=flockwise.median())
    local = flockwise.run(method, clients, out=tmp_path / "local", **given)
    ray = flockwise.run(method, clients, out=tmp_path / "ray", engine=FlowerSimulation(workers=2), **given)
    assert_same(local, ray)


def test_an_unmodified_app_on_ray_has_its_partitions_as_clients(tmp_path):
    from flwr.simulation import run_simulation

    server = ServerApp()

    @server.main()
    def main(grid: Grid, context: Context) -> None:
        flocks = Flocks("flic", clients=6, run=tmp_path / "run", warmup=2)
        flocks.start(grid, apps.numpy_start(), num_rounds=4)

    backend = {"client_resources": {"num_cpus": 1, "num_gpus": 0.0}, "init_args": {"num_cpus": 1}}
    run_simulation(server, apps.numpy_app, 6, backend_config=backend)
    found = open_run(tmp_path / "run")
    assert found.state == "finished" and found.facts["accuracy"][-1] > 0.8
    names = [row["name"] for row in found.clients]
    assert names == [f"partition {p}" for p in range(6)]
    labels = found.checkpoint()["labels"]
    assert np.array_equal(labels == labels[0], [True, False] * 3)


@pytest.mark.extended
def test_an_app_of_the_older_interface_on_ray(tmp_path):
    from flwr.clientapp import ClientApp
    from flwr.simulation import run_simulation

    from .test_older_apps import client_fn

    server = ServerApp()

    @server.main()
    def main(grid: Grid, context: Context) -> None:
        flocks = Flocks("fedavg", clients=3, run=tmp_path / "run")
        flocks.start(grid, apps.numpy_start(), num_rounds=2, train_config={"lr": 0.2})

    backend = {"client_resources": {"num_cpus": 1, "num_gpus": 0.0}, "init_args": {"num_cpus": 1}}
    run_simulation(server, ClientApp(client_fn=client_fn), 3, backend_config=backend)
    found = open_run(tmp_path / "run")
    assert found.state == "finished" and found.array("trained")[1].all()
    assert not [event for event in found.events if event.kind == "dropout"]
