"""The recipe for production in docs/flower.md, run as it is written, with the folders and ports of this machine."""

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("flwr", reason="needs flockwise[flower]")

from flockwise.errors import EngineError
from flockwise.flower.command import flwr
from flockwise.flower.deployment import _free_port
from flockwise.store import open_run

from .fleet_proxy import FleetProxy

EXAMPLE = Path(__file__).parents[2] / "examples" / "flower"
PAGE = (Path(__file__).parents[2] / "docs" / "flower.md").read_text(encoding="utf-8")
RECIPE = PAGE.partition("\n## Production\n")[2]
BLOCKS = [
    re.sub(r"^    ", "", block, flags=re.M).strip("\n").replace("\\\n", " ")
    for block in re.findall(r"(?:^    .*\n)+", RECIPE, flags=re.M)
]
CLINICS = (12, 13)
MARK = "FLOCKWISE_RECIPE"


def block(start):
    (found,) = [text for text in BLOCKS if text.startswith(start)]
    return found


class Machine:
    """One machine that plays the server and all nodes: the page's folders lie below `root`."""

    def __init__(self, root, ports):
        self.root, self.home = root, root / "home"
        self.superlink, self.proxy = ports
        for folder in ("home/.flwr", "srv/flower", "srv/apps", "srv/runs"):
            (root / folder).mkdir(parents=True, exist_ok=True)

    def words(self, text, clinic=None):
        """The page's text, with the places of this machine."""
        key = f"node-{clinic}"
        etc = f"{self.root}/etc/flower"
        changes = {
            "/opt/flower/bin": str(Path(sys.executable).parent), "/srv/": f"{self.root}/srv/", "/etc/flower": etc,
            "/etc/flower/node": f"{etc}/{key}", " node.pub": f" {etc}/{key}.pub", "fl.example.org": "localhost",
            "fl.example.org:443": f"localhost:{self.proxy}", "127.0.0.1:8000": f"127.0.0.1:{self.superlink}",
            "--port 8000": f"--port {self.superlink}", "clinic-12": f"clinic-{clinic}",
            "partition-id=12": f"partition-id={clinic}",
        }  # fmt: skip
        pattern = "|".join(re.escape(old) for old in sorted(changes, key=len, reverse=True))
        return re.sub(pattern, lambda found: changes[found.group()], text)

    def run(self, start, clinic=None, timeout=120):
        """One command of the page, as a person would type it."""
        command = shlex.split(self.words(block(start), clinic))
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        environment = {k: v for k, v in os.environ.items() if not k.startswith("FLWR")}
        environment |= {
            "HOME": str(self.home),
            "PATH": path,
            "FLWR_TELEMETRY_ENABLED": "0",
            "FLWR_DISABLE_UPDATE_CHECK": "1",
        }
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=timeout, check=False
        )
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return done.stdout

    def unit(self, name, clinic=None, more=()):
        """Start a unit with nothing in its environment but what systemd and the unit give it."""
        text = self.words(block(f"# /etc/systemd/system/{name}.service"), clinic)
        given = dict(
            word.split("=", 1) for word in re.search(r"^Environment=(.*)$", text, flags=re.M)[1].split()
        )
        command = shlex.split(re.search(r"^ExecStart=(.*)$", text, flags=re.M)[1])
        with open(self.root / f"{name}-{clinic}.log", "wb") as log:
            return subprocess.Popen(
                [*command, *more], env={"HOME": str(self.home), MARK: str(self.root), **given}, cwd=self.root,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip

    def logs(self):
        return {path.name: path.read_text(errors="replace")[-1500:] for path in self.root.glob("*.log")}


def end(root):
    """End the units and all that they started, known by a mark in their environment."""
    for number, seconds in ((signal.SIGTERM, 10), (signal.SIGKILL, 5)):
        for pid in marked(root):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        limit = time.monotonic() + seconds
        while marked(root) and time.monotonic() < limit:
            time.sleep(0.2)
    assert not marked(root)


def marked(root):
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"{MARK}={root}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
    return found


def until(ready, seconds, what):
    limit = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < limit, what()
        time.sleep(0.5)


def online(home):
    try:
        return sum(
            node["status"] == "online"
            for node in flwr("supernode", "list", "my-superlink", home=home)["nodes"]
        )
    except EngineError:
        return -1  # the SuperLink is not up yet


def test_the_recipe_names_no_flag_that_keeps_every_app_out():
    assert "--trusted-entities" not in "".join(BLOCKS)
    assert [text.split()[0] for text in BLOCKS if not text.startswith(("#", "[", "server"))] == [
        "flockwise", "ssh-keygen", "flwr", "flockwise",
    ]  # fmt: skip


@pytest.mark.slow
def test_the_recipe_runs_an_app_as_it_is_written(tmp_path):
    machine = Machine(tmp_path, ports=(_free_port(), _free_port()))
    home, etc, started, proxy = machine.home / ".flwr", tmp_path / "etc" / "flower", [], None
    shutil.copytree(EXAMPLE, tmp_path / "srv" / "apps" / "clinics")
    project = tmp_path / "srv" / "apps" / "clinics" / "pyproject.toml"
    project.write_text(
        project.read_text()
        .replace("clients = 4", f"clients = {len(CLINICS)}")
        .replace("rounds = 4", "rounds = 2")
    )
    try:
        machine.run("flockwise flower certificates")
        (home / "config.toml").write_text(machine.words(block("[superlink.my-superlink]")))
        (home / "config.toml").chmod(0o600)
        started.append(machine.unit("flower-superlink"))
        until(lambda: online(home) == 0, 120, machine.logs)
        files = {
            "ca": str(etc / "ca.crt"),
            "certificate": str(etc / "server.pem"),
            "key": str(etc / "server.key"),
        }
        proxy = FleetProxy(machine.words(block("server {")), machine.proxy, files)
        for clinic in CLINICS:
            machine.run("ssh-keygen", clinic)
            machine.run("flwr supernode register", clinic)
            # Nodes share this machine, so each needs a port of its own.
            started.append(machine.unit("flower-supernode", clinic, ("--port", str(_free_port()))))
        until(lambda: online(home) == len(CLINICS), 180, machine.logs)

        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / "config.toml").write_text(
            f'[superlink.my-superlink]\naddress = "localhost:{machine.proxy}"\nroot-certificates = "{etc / "ca.crt"}"\n'
        )
        with pytest.raises(EngineError):  # whoever comes by the proxy cannot list nodes or submit code
            flwr("supernode", "list", "my-superlink", home=outside)
        assert proxy.refused and all(path.startswith("/v1/control/") for path in proxy.refused)

        said = machine.run("flockwise flower supervise", timeout=500)
        found = open_run(tmp_path / "srv" / "runs" / "clinics")
        assert "finished: 2 rounds" in said and found.state == "finished"
        assert found.array("trained")[1].all()
        assert [row["name"] for row in found.clients] == [f"clinic-{clinic}" for clinic in CLINICS]
        assert proxy.passed and all(path.startswith("/v1/fleet/") for path in proxy.passed)
    finally:
        if proxy:
            proxy.close()
        for process in started:
            process.terminate()
        end(tmp_path)
        for process in started:
            process.wait(10)
