"""A Ray cluster of several nodes on this machine: one is killed in the middle of a round, another joins."""

import os
import signal
import socket
import subprocess
import sys
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import flockwise as fw
from flockwise.engine import ClientWork
from flockwise.errors import ConfigError
from flockwise.machines import RayEngine

from .clusters import ended, started
from .runs import assert_same_bits

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'flockwise[ray]'")

PERSONAL = {
    "rounds": 4,
    "split": {"name": "label_swap", "clients": 9, "groups": 3},
    "model": {"name": "mlp"},
    "strategy": {"name": "ditto"},
    "sampling": {"fraction": 1.0},
    "evaluation": {"every": 1},
}


@pytest.fixture(scope="module")
def cluster():
    before = os.environ.pop("RAY_ADDRESS", None)
    os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112  a busy machine would let them wait
    made = started(3)
    yield made
    ended(made)
    if before is not None:
        os.environ["RAY_ADDRESS"] = before


@dataclass(frozen=True)
class Eventful:
    """Something happens as soon as the first block of this round is on its way to a node."""

    address: str
    round: int
    happens: Any

    def open(self, work: ClientWork, most_models: int) -> RayEngine:
        engine = fw.Ray(self.address, workers=1).open(work, most_models)
        sender, left = engine._sender, [self.happens]

        def eventful(kind: str, plan: Any) -> Any:
            send = sender(kind, plan)

            def sending(member: Any, block: Any) -> Any:
                sent = send(member, block)
                if plan.round == self.round and left:
                    left.pop()(member)
                return sent

            return sending

        engine._sender = eventful  # type: ignore[method-assign]
        return engine


@pytest.mark.slow
@pytest.mark.filterwarnings(
    "ignore"
)  # Ray leaves files open when it starts nodes, and warns of its own future
def test_a_node_dies_in_mid_round_and_another_joins(cluster, tmp_path):
    here = fw.run(PERSONAL, out=tmp_path / "here")

    def kill(member: Any) -> None:
        gone = next(node for node in cluster.worker_nodes if node.node_id == member.id)
        cluster.remove_node(gone, allow_graceful=False)
        cluster.add_node(num_cpus=1)

    there = fw.run(PERSONAL, out=tmp_path / "there", engine=Eventful(cluster.address, 2, kill))
    assert_same_bits(here, there)
    gone = [event for event in there.events if event.kind == "left"]
    assert len(gone) == 1 and gone[0].round == 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_what_python_brings_travels_and_a_process_that_dies_is_begun_anew(cluster, tmp_path):
    rng = np.random.default_rng(0)
    clients = fw.Federation.from_arrays(
        [(rng.random((30, 6)).astype(np.float32), rng.integers(0, 2, 30)) for _ in range(6)]
    )
    model = fw.models.build("mlp", (1, 1, 6), 2, seed=3)
    told: dict[str, Any] = {"model": model, "rounds": 3, "checkpoint": {"every": 1}}
    here = fw.run(fw.flic(warmup=1), clients, **told, out=tmp_path / "here")
    stopped = fw.run(fw.flic(warmup=1), clients, **told, out=tmp_path / "there", stop=lambda: True)
    assert len(stopped.rounds) == 1

    killed: list[str] = []

    def kill(member: Any) -> None:
        killed.append(member.name)
        ray.kill(member.actor)

    method, given = fw.flic(warmup=1), {"clients": clients, "model": model}
    there = fw.resume(tmp_path / "there", method=method, **given, engine=Eventful(cluster.address, 2, kill))
    assert_same_bits(here, there)
    assert any(event.message.startswith(f"{killed[0]}: died") for event in there.events if event.round == 2)


@pytest.mark.parametrize(
    ("address", "line"),
    [
        ("127.0.0.1:1", "engine.address = '127.0.0.1:1': no cluster answers there: Connection refused"),
        (
            "ray://127.0.0.1:1",
            "engine.address = 'ray://127.0.0.1:1': no cluster answers there: Connection refused",
        ),
        ("nowhere", "engine.address = 'nowhere': must be auto, local, HOST:PORT or ray://HOST:PORT"),
        (
            "http://host:1",
            "engine.address = 'http://host:1': must be auto, local, HOST:PORT or ray://HOST:PORT",
        ),
        ("no.such.host.invalid:1", "engine.address = 'no.such.host.invalid:1': no cluster answers there: "),
    ],
)
def test_an_address_that_is_none_is_one_line(address, line, tmp_path):
    with pytest.raises(ConfigError) as found:
        fw.run({**PERSONAL, "engine": {"name": "ray", "address": address}}, out=tmp_path / "run")
    assert str(found.value).startswith(line) and "\n" not in str(found.value)
    assert not (tmp_path / "run").exists()


def test_a_wrong_variable_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with pytest.raises(
        ConfigError, match=r"^engine.address = 'auto' \(RAY_ADDRESS is '127.0.0.1:1'\): no cluster"
    ):
        fw.run({**PERSONAL, "engine": {"name": "ray"}}, out=tmp_path / "run")


def test_who_listens_but_is_no_ray_is_not_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", lambda **_: threading.Event().wait(30))
    monkeypatch.setattr("flockwise.engine.ray_cluster._START", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(ConfigError, match=r"Ray did not answer there within 0.2 s"):
            fw.run({**PERSONAL, "engine": {"name": "ray", "address": address}}, out=tmp_path / "run")


def test_without_ray_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(
        ConfigError, match=r"Ray is not installed; pip install -c constraints.txt 'flockwise\[ray\]'"
    ):
        fw.run({**PERSONAL, "engine": {"name": "ray"}}, out=tmp_path / "run")


def test_a_term_signal_is_still_ours(monkeypatch):
    from flockwise.engine.ray_cluster import connected

    handler = lambda *_: None  # noqa: E731
    before = signal.signal(signal.SIGTERM, handler)
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", lambda **_: signal.signal(signal.SIGTERM, signal.SIG_DFL))
    try:
        connected("local", "engine.address = 'local'")
        assert signal.getsignal(signal.SIGTERM) is handler
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.slow
def test_no_cluster_here_is_one_line_of_the_command(tmp_path):
    (tmp_path / "my.toml").write_text('rounds = 1\n[model]\nname = "softmax"\n[engine]\nname = "ray"\n')
    command = [
        sys.executable,
        "-m",
        "flockwise",
        "run",
        str(tmp_path / "my.toml"),
        "--out",
        str(tmp_path / "run"),
    ]
    environment = {**os.environ, "RAY_ADDRESS": "127.0.0.1:1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("error: engine.address = 'auto' (RAY_ADDRESS is '127.0.0.1:1'): no cluster")


def test_a_run_is_resumed_on_another_engine_by_the_command(tmp_path):
    from click.testing import CliRunner

    from flockwise.cli.app import app

    run = fw.run({**PERSONAL, "engine": {"workers": 1}}, out=tmp_path / "run", stop=lambda: True)
    alone = CliRunner().invoke(app, ["resume", str(run.path), "--address", "127.0.0.1:1"])
    assert alone.exit_code == 2 and "--address goes with --engine ray" in alone.output
    nobody = CliRunner().invoke(
        app, ["resume", str(run.path), "--engine", "ray", "--address", "127.0.0.1:1", "-q"]
    )
    assert nobody.exit_code != 0 and "no cluster answers there" in f"{nobody.output}{nobody.exception}"
    assert len(fw.open_run(run.path).rounds) == 1  # nothing happened to it
    here = CliRunner().invoke(app, ["resume", str(run.path), "--engine", "local", "-q"])
    assert here.exit_code == 0 and len(fw.open_run(run.path).rounds) == 4
