"""A Flower deployment on this machine, for trying: a SuperLink and SuperNodes on loopback, with TLS and keys."""

import contextlib
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import time
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from flockwise.errors import EngineError, InputError
from flockwise.flower.certificates import make_certificates, make_node_key, write_secret
from flockwise.flower.command import NODES, STATUS, environment, flwr, program

HOST, NAME = "127.0.0.1", "local"
_MARK = "FLOCKWISE_DEPLOYMENT"


class Deployment:
    """What lives in `folder`: certificates, keys, Flower's own state, logs, and the numbers of the processes."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder).absolute()
        self.home = self.folder / "flwr"
        self._children: list[subprocess.Popen[bytes]] = []

    @property
    def processes(self) -> dict[str, dict[str, Any]]:
        """The processes that were started, by name."""
        try:
            found: dict[str, dict[str, Any]] = json.loads((self.folder / "processes.json").read_text())
        except (OSError, ValueError):
            return {}
        return found

    def up(self, nodes: int, data: Path | None = None, wait: float = 120.0) -> None:
        """Make secrets, start everything, wait until all nodes are online; on failure nothing is left running."""
        if nodes < 1:
            raise InputError(f"nodes = {nodes}: must be at least 1")
        if any(alive(process) for process in self.processes.values()):
            raise EngineError(f"{self.folder}: already up; take it down first with: flockwise flower down")
        if self.folder.exists():
            if not (self.folder / "processes.json").exists() and any(self.folder.iterdir()):
                raise InputError(f"{self.folder}: holds something else; choose an empty folder")
            self._clear()
        self.folder.mkdir(parents=True, mode=0o700, exist_ok=True)
        for name in ("flwr", "keys", "logs"):
            (self.folder / name).mkdir(mode=0o700, exist_ok=True)
        make_certificates(self.folder)
        self.port = _free_port()
        settings = (
            f'[superlink]\ndefault = "{NAME}"\n\n[superlink.{NAME}]\naddress = "{HOST}:{self.port}"\n'
            f'root-certificates = "{self.folder / "ca.crt"}"\n'
        )
        write_secret(self.home / "config.toml", settings.encode())
        try:
            self.start_superlink()
            self._until(self._healthy, wait, "the SuperLink")
            with ThreadPoolExecutor(max_workers=4) as pool:
                list(pool.map(self._register, range(nodes)))
            for number in range(nodes):
                self.start_node(number, nodes, data)
            self._until(lambda: self.online() >= nodes, wait, "the SuperNodes")
        except BaseException:
            self.down()
            raise

    def _clear(self) -> None:
        """Remove what the last `up` made, but for the keys: nodes stay who they are, and runs can go on."""
        for name in ("flwr", "logs"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        for pattern in ("ca.crt", "server.pem", "server.key", "state.db*", "processes.json"):
            for file in self.folder.glob(pattern):
                file.unlink()

    def down(self) -> int:
        """Stop everything that `up` started and what that started; how many processes there were."""
        before = self._marked()
        for number, seconds in ((signal.SIGTERM, 8), (signal.SIGKILL, 5)):
            for pid in self._marked():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
            end = time.monotonic() + seconds
            while self._marked() and time.monotonic() < end:
                time.sleep(0.1)
        for child in self._children:
            child.wait(timeout=10)
        if self.folder.exists():
            (self.folder / "processes.json").write_text("{}")
        return len(before)

    def start_node(self, number: int, nodes: int, data: Path | None = None) -> None:
        """Start (or start again) one SuperNode."""
        settings = f"partition-id={number} num-partitions={nodes}"
        settings += f' data="{data}"' if data else ""
        self._spawn(f"node-{number}", [
            program("flower-supernode"), "--superlink", f"{HOST}:{self.address_port()}", "--root-certificates",
            str(self.folder / "ca.crt"), "--auth-supernode-private-key", str(self.folder / "keys" / f"node-{number}"),
            "--host", HOST, "--port", str(_free_port()), "--node-config", settings,
        ])  # fmt: skip

    def online(self) -> int:
        """How many SuperNodes are online."""
        listed = flwr("supernode", "list", NAME, home=self.home)
        return sum(node.get(STATUS) == "online" for node in listed.get(NODES, []))

    def address_port(self) -> int:
        """The SuperLink's port."""
        return int(self.processes["superlink"]["port"])

    def _register(self, number: int) -> None:
        key = self.folder / "keys" / f"node-{number}"
        if not key.exists():
            make_node_key(key)
        flwr("supernode", "register", f"{key}.pub", NAME, "--name", key.name, home=self.home)

    def start_superlink(self) -> None:
        """Start (or start again) the SuperLink, on its port and with its state."""
        port = self.address_port() if "superlink" in self.processes else self.port
        self._spawn("superlink", [
            program("flower-superlink"), "--host", HOST, "--port", str(port), "--ssl-ca-certfile",
            str(self.folder / "ca.crt"), "--ssl-certfile", str(self.folder / "server.pem"), "--ssl-keyfile",
            str(self.folder / "server.key"), "--enable-supernode-auth", "--database", str(self.folder / "state.db"),
            "--disable-runtime-dependency-installation",
        ], port=port)  # fmt: skip

    def _healthy(self) -> bool:
        context = ssl.create_default_context(cafile=str(self.folder / "ca.crt"))
        try:
            with urllib.request.urlopen(
                f"https://{HOST}:{self.port}/health", timeout=2, context=context
            ) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def _until(self, ready: Callable[[], bool], seconds: float, what: str) -> None:
        end = time.monotonic() + seconds
        while not ready():
            dead = [name for name, process in self.processes.items() if not alive(process)]
            if dead or time.monotonic() >= end:
                who = dead[0] if dead else next(iter(self.processes))
                log = (self.folder / "logs" / f"{who}.log").read_text(errors="replace").strip()[-400:]
                raise EngineError(f"{what} did not come up within {seconds:g} s; {who}: {log}")
            time.sleep(0.3)

    def _marked(self) -> list[int]:
        """Every process that carries this deployment's mark, which children inherit."""
        mark = f"{_MARK}={self.folder}".encode()
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if mark in (entry / "environ").read_bytes().split(b"\0") and _started(int(entry.name)):
                    found.append(int(entry.name))
        return found

    def _spawn(self, name: str, command: list[str], **about: int) -> None:
        with open(self.folder / "logs" / f"{name}.log", "ab") as log:
            process = subprocess.Popen(
                command, env={**environment(self.home), _MARK: str(self.folder)}, stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, cwd=self.folder, start_new_session=True,
            )  # fmt: skip
        self._children.append(process)
        entry = {"pid": process.pid, "started": _started(process.pid), **about}
        (self.folder / "processes.json").write_text(json.dumps({**self.processes, name: entry}))


def alive(process: dict[str, Any]) -> bool:
    """Whether this very process still runs: the same number and the same start time."""
    return bool(_started(int(process["pid"])) == process["started"])


def _started(pid: int) -> str | None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else fields[19]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port
