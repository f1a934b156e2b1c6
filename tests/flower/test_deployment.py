"""A real deployment on loopback: SuperLink and SuperNodes as processes, with TLS and keys."""

import os
import shutil
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("flwr", reason="needs flockwise[flower]")

import flockwise
from flockwise.config import load_config
from flockwise.errors import EngineError
from flockwise.flower import Flocks, supervise
from flockwise.flower.command import flwr
from flockwise.flower.config_app import write_app
from flockwise.flower.deployment import Deployment, alive
from flockwise.store import open_run

from .fake_grid import FakeGrid, FakeNode

pytestmark = pytest.mark.slow
EXAMPLE = Path(__file__).parents[2] / "examples" / "flower"
NODES = 4


@pytest.fixture
def deployment(tmp_path):
    found = Deployment(tmp_path / "deployment")
    found.up(NODES, wait=300)
    yield found
    found.down()
    assert not found._marked()


@pytest.fixture
def example(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLE))
    from clinics import client, server

    yield client, server
    for name in ("clinics", "clinics.client", "clinics.server"):
        sys.modules.pop(name, None)


class Supervised(threading.Thread):
    """supervise() in the background, so that the test can break things meanwhile."""

    def __init__(self, app, deployment, run, run_config=""):
        super().__init__(daemon=True)
        self.said, self.found, self.error = [], None, None
        self._work = lambda: supervise(
            app, "local", run, run_config=run_config, home=deployment.home, restarts=2, say=self.said.append
        )
        self.run_path = Path(run)
        self.start()

    def run(self):
        try:
            self.found = self._work()
        except BaseException as error:
            self.error = error

    def until_round(self, number, seconds=240):
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.is_alive():
            try:
                if len(open_run(self.run_path).rounds) >= number:
                    return
            except flockwise.errors.RunError:
                pass
            time.sleep(0.1)
        pytest.fail(f"round {number} did not come: {self.said} {self.error}")

    def end(self, seconds=400):
        self.join(seconds)
        assert not self.is_alive() and self.error is None, (self.said, self.error)
        return self.found


def settings(run, strategy, options, rounds, timeout, clients=NODES):
    return (
        f'run="{run}" strategy="{strategy}" options=\'{options}\' rounds={rounds} '
        f"timeout={timeout} clients={clients} evaluate-every=0"
    )


def check_a_killed_serverapp_goes_on_to_the_right_flocks_and_the_same_bits(deployment, example, tmp_path):
    client, server = example
    job = Supervised(
        EXAMPLE, deployment, tmp_path / "run", settings(tmp_path / "run", "flic", '{"warmup": 2}', 3, 120)
    )
    job.until_round(1)
    os.kill(int((tmp_path / "run" / "lock").read_text()), signal.SIGKILL)
    found = job.end()
    assert found.state == "finished" and found.rounds.tolist() == [1, 2, 3]
    assert any("restart 1" in line for line in job.said)
    assert [row["name"] for row in found.clients] == [f"node-{n}" for n in range(NODES)]
    grid = FakeGrid([FakeNode(p, client.app, name=f"node-{p}") for p in range(NODES)])
    Flocks("flic", clients=NODES, run=tmp_path / "here", warmup=2, evaluate_every=0).start(
        grid, server.first_model(), num_rounds=3
    )
    there, here = found.checkpoint(), open_run(tmp_path / "here").checkpoint()
    assert there["labels"].tolist() in ([0, 1, 0, 1], [1, 0, 1, 0])
    assert there.keys() == here.keys()
    for name in here:
        np.testing.assert_array_equal(there[name], here[name], err_msg=name)


def check_a_dead_node_and_a_hostile_one_cost_only_their_own_replies(deployment, tmp_path):
    app = tmp_path / "app"
    shutil.copytree(EXAMPLE, app)
    honest = (app / "clinics" / "client.py").read_text()
    lie = (
        "    if message.content['config']['server-round'] == 2 and context.node_config['partition-id'] == 2:\n"
        "        weights[0] = np.nan\n"
    )
    report = '    metrics = MetricRecord({"num-examples": len(y)})\n'
    changed = honest.replace(report, lie + report, 1)
    assert changed != honest
    (app / "clinics" / "client.py").write_text(changed)
    job = Supervised(
        app, deployment, tmp_path / "run", settings(tmp_path / "run", "communities", "{}", 3, 30)
    )
    job.until_round(2)
    os.killpg(deployment.processes["node-3"]["pid"], signal.SIGKILL)
    found = job.end()
    assert found.state == "finished" and not any("restart" in line for line in job.said)
    trained = found.array("trained")[1]
    assert trained[:, :2].all() and trained[:, 2].tolist() == [True, False, True]
    assert trained[:, 3].tolist() == [True, True, False]
    told = {(e.round, e.client, e.kind) for e in found.events}
    assert (2, 2, "rejected") in told
    assert any(r == 3 and c == 3 and kind in ("late", "dropout", "left") for r, c, kind in told)
    assert found.checkpoint()["labels"].tolist() in ([0, 1, 0, 1], [1, 0, 1, 0])


def check_a_config_gives_the_same_bits_as_on_the_local_engine(deployment, tmp_path):
    config = tmp_path / "config.toml"
    config.write_text(
        'seed = 3\nrounds = 2\n[split]\nname = "label_swap"\nclients = 4\ngroups = 2\n[model]\nname = "softmax"\n'
        '[strategy]\nname = "communities"\n[engine]\npath = "generic"\nworkers = 1\ntimeout = 120\n'
        "[evaluation]\nevery = 10\n"
    )
    local = flockwise.run(config, out=tmp_path / "local")
    checked = load_config(config, ["engine.name=flower", "engine.superlink=local", "engine.workers=2"])
    write_app(tmp_path / "app", checked, tmp_path / "there", tmp_path)
    there = Supervised(tmp_path / "app", deployment, tmp_path / "there").end()
    ours, theirs = local.checkpoint(), there.checkpoint()
    assert ours.keys() == theirs.keys()
    for name in ours:
        np.testing.assert_array_equal(ours[name], theirs[name], err_msg=name)
    np.testing.assert_array_equal(local.facts["accuracy"], there.facts["accuracy"])


def check_a_run_that_learns_nothing_is_a_failed_one_for_flower_too(deployment, tmp_path):
    app = tmp_path / "app"
    shutil.copytree(EXAMPLE, app)
    client = app / "clinics" / "client.py"
    broken = client.read_text().replace(
        "    metrics = ", '    raise ValueError("no data")\n    metrics = ', 1
    )
    client.write_text(broken)
    run = tmp_path / "run"
    job = Supervised(app, deployment, run, settings(run, "fedavg", '{"retries": 0}', 2, 60))
    found = job.end()
    assert found.state == "stopped" and "no data" in found.about["error"]
    number = job.said[0].split()[-1]
    (listed,) = flwr("list", "local", "--run-id", number, home=deployment.home)["runs"]
    assert listed["status"] == "finished:failed" and "no data" in listed["status-details"]


def check_strangers_are_kept_out(deployment, tmp_path):
    assert alive(deployment.processes["superlink"])
    for path in [deployment.folder, deployment.folder / "keys", deployment.folder / "server.key"]:
        assert path.stat().st_mode & 0o077 == 0
    import ssl
    import urllib.error
    import urllib.request

    with pytest.raises(urllib.error.URLError) as refused:  # a client that does not know our authority
        urllib.request.urlopen(
            f"https://127.0.0.1:{deployment.address_port()}/health",
            timeout=5,
            context=ssl.create_default_context(),
        )
    assert isinstance(refused.value.reason, ssl.SSLError)
    (tmp_path / "config.toml").write_text(
        f'[superlink.local]\naddress = "127.0.0.1:{deployment.address_port()}"\ninsecure = true\n'
    )
    with pytest.raises(EngineError):
        flwr("supernode", "list", "local", home=tmp_path)


def check_next_month_nodes_are_known_by_their_keys_newcomers_placed_and_who_changed_moves(
    deployment, tmp_path
):
    january, february = tmp_path / "january", tmp_path / "february"
    Supervised(EXAMPLE, deployment, january, settings(january, "flic", '{"warmup": 2}', 4, 120)).end()
    even, odd, *_ = open_run(january).checkpoint()["labels"].tolist()
    assert even != odd
    deployment._register(4)
    deployment.start_node(4, NODES)
    app = tmp_path / "app"
    shutil.copytree(EXAMPLE, app)
    client = app / "clinics" / "client.py"
    changed = client.read_text().replace("clinic % 2)", "clinic % 2 * (clinic != 1))")  # clinic 1 is even now
    assert changed != client.read_text()
    client.write_text(changed)
    options = f'{{"warmup": 2, "continues": "{january}"}}'
    job = Supervised(app, deployment, february, settings(february, "flic", options, 1, 120, clients=5))
    found = job.end()
    assert found.state == "finished" and found.rounds.tolist() == [4, 5]
    assert found.checkpoint()["labels"].tolist() == [even, even, even, odd, even]
    assert found.array("trained")[1][-1].all()
    told = {(event.kind, event.client) for event in found.events if event.round == 4}
    assert {("continued", None), ("joined", 4), ("placed", 4), ("moved", 1)} <= told
    assert found.environment["parent"] == str(january) and found.environment["continued_at"] == 4
    os.killpg(deployment.processes["node-4"]["pid"], signal.SIGTERM)
    end = time.monotonic() + 60
    while deployment.online() > NODES and time.monotonic() < end:  # the next check counts on four
        time.sleep(0.3)


def test_a_deployment_with_tls_and_keys(deployment, example, tmp_path):
    """One test, for one deployment: starting it costs as much as any of the checks."""
    checks = (
        check_strangers_are_kept_out,
        check_a_run_that_learns_nothing_is_a_failed_one_for_flower_too,
        check_a_config_gives_the_same_bits_as_on_the_local_engine,
        check_a_killed_serverapp_goes_on_to_the_right_flocks_and_the_same_bits,
        check_next_month_nodes_are_known_by_their_keys_newcomers_placed_and_who_changed_moves,
        check_a_dead_node_and_a_hostile_one_cost_only_their_own_replies,  # the last: it leaves a node dead
    )
    for number, check in enumerate(checks):
        folder = tmp_path / str(number)
        folder.mkdir()
        check(deployment, example, folder) if "killed" in check.__name__ else check(deployment, folder)
