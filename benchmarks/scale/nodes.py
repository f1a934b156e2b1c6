"""Nodes of a Ray cluster on this machine, each by a `ray start` of its own, in network namespaces of their own if it can be.

A node in a namespace has its own network interface, address and ports, and reaches the others over a bridge: as a machine
would. Files and memory are the machine's.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

_PORT = 26379
_NET = "10.77.0"
_BRIDGE = "flockwise-ray"


class Nodes:
    """A head without cores in this namespace, and nodes that are started, killed and cut off by number."""

    def __init__(self, namespaces: bool, cores: int = 1) -> None:
        self.namespaces, self.cores = namespaces, cores
        self._folder = tempfile.mkdtemp(prefix="fw-ray-")  # short: Ray's sockets lie below it
        self._head = f"{_NET}.1" if namespaces else "127.0.0.1"
        self._started: dict[int, subprocess.Popen[bytes]] = {}
        if namespaces:
            _ip("link", "del", _BRIDGE, check=False)  # of one that was killed
            _ip("link", "add", _BRIDGE, "type", "bridge")
            _ip("addr", "add", f"{self._head}/24", "dev", _BRIDGE)
            _ip("link", "set", _BRIDGE, "up")
        self._start(0, "--head", f"--port={_PORT}", "--num-cpus=0", f"--temp-dir={self._folder}",
                    "--include-dashboard=false")  # fmt: skip

    @property
    def address(self) -> str:
        """Where the head answers."""
        return f"{self._head}:{_PORT}"

    def add(self, number: int) -> None:
        """One more node."""
        if self.namespaces:
            name, inside, outside = f"fwray{number}", f"fwr{number}i", f"fwr{number}o"
            _ip("netns", "del", name, check=False)
            _ip("netns", "add", name)
            _ip("link", "add", outside, "type", "veth", "peer", "name", inside)
            _ip("link", "set", outside, "master", _BRIDGE, "up")
            _ip("link", "set", inside, "netns", name)
            for rest in (
                f"addr add {self.host(number)}/24 dev {inside}",
                f"link set {inside} up",
                "link set lo up",
            ):
                _ip("-n", name, *rest.split())
        self._start(number, f"--address={self.address}", f"--num-cpus={self.cores}")

    def host(self, number: int) -> str:
        """The address of a node."""
        return f"{_NET}.{number + 1}" if self.namespaces else f"127.0.0.{number + 1}"

    def kill(self, number: int) -> None:
        """As if the power went: all processes of a node at once."""
        for pid in self._processes(number):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def cut(self, number: int) -> None:
        """As if the cable were pulled: it goes on, and nobody hears of it."""
        _ip("link", "set", f"fwr{number}o", "down")

    def close(self) -> None:
        """End everything that was started here."""
        for number in sorted(self._started, reverse=True):
            self.kill(number)
            self._started[number].wait()
        if self.namespaces:
            for number in self._started:
                if number:
                    _ip("link", "del", f"fwr{number}o", check=False)  # with its other end
                    _ip("netns", "del", f"fwray{number}", check=False)
            _ip("link", "del", _BRIDGE, check=False)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _start(self, number: int, *how: str) -> None:
        before = ["ip", "netns", "exec", f"fwray{number}"] if self.namespaces and number else []
        ray = str(Path(sys.executable).with_name("ray"))
        # --block keeps the processes below ours, so that it is known which they are
        command = [*before, ray, "start", "--block", f"--node-ip-address={self.host(number)}", *how]
        quiet = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}
        with Path(self._folder, f"node{number}.log").open("wb") as log:
            self._started[number] = subprocess.Popen(
                command, stdout=log, stderr=log, env={**os.environ, **quiet}, start_new_session=True
            )

    def _processes(self, number: int) -> list[int]:
        if self.namespaces and number:
            listed = subprocess.run(["ip", "netns", "pids", f"fwray{number}"], capture_output=True, text=True)
            return [int(pid) for pid in listed.stdout.split()]
        return _family(self._started[number].pid)


def can_have_namespaces() -> bool:
    """Whether this user may make network namespaces here."""
    if shutil.which("ip") is None or os.geteuid() != 0:
        return False
    made = _ip("netns", "add", "fwraytry", check=False)
    _ip("netns", "del", "fwraytry", check=False)
    return made


def _ip(*words: str, check: bool = True) -> bool:
    return subprocess.run(["ip", *words], check=check, capture_output=not check).returncode == 0


def _family(pid: int) -> list[int]:
    """A process and all below it, the youngest first."""
    found = [pid]
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += [member for child in file.read_text().split() for member in _family(int(child))]
    return found[::-1] if len(found) > 1 else found
