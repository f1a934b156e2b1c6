"""Several programs that take turns, each for a few rounds, so that what else the machine does hits all alike.

`Way` is the benchmark's side of it: a child process that stands still until it is asked for rounds. `Turns`
is the child's side. They speak in lines: a number of rounds (or `stop`) goes in, `TURN {json}` comes out.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from processes import cpu_seconds

_MARK = "TURN "


class Turns:
    """Call `done` after every round; it waits for the next turn and says whether there is one."""

    def __init__(self) -> None:
        self.left = 0
        self._rounds = 0
        self._samples = 0
        self._seconds: list[float] = []
        self._began = 0.0

    def done(self, samples: int = 0) -> bool:
        """Note a round that trained on so many samples; False means: stop. The first round is start-up."""
        now = time.perf_counter()
        if self.left:
            self._rounds += 1
            self._samples += samples
            self._seconds.append(now - self._began)
            self.left -= 1
        if not self.left:
            _say({"seconds": self._seconds})
            self._seconds = []
            asked = sys.stdin.readline().strip()
            if not asked.isdigit():  # stop, or the benchmark is gone
                return False
            self.left = int(asked)
        self._began = time.perf_counter()
        return True

    def finish(self, accuracy: float, samples: int = 0, rounds: int = 0) -> None:
        """Last words: proof that the work was the same (as counted here, or by the caller)."""
        samples, rounds = samples or self._samples, rounds or self._rounds
        _say({"accuracy": accuracy, "samples": samples, "rounds": rounds})


def _say(content: dict[str, Any]) -> None:
    sys.stdout.write(_MARK + json.dumps(content) + "\n")
    sys.stdout.flush()


class Way:
    """One way to do the rounds, in processes of its own; started, it has done its first round.

    With `restless`, its processes are stopped between turns, because they would not wait without work.
    """

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str] | None = None, restless: bool = False
    ) -> None:
        began = time.perf_counter()
        self._restless = restless
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed by stop)
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True,
            env={**os.environ, **(environment or {})}, start_new_session=True,
        )  # fmt: skip
        self.turns: list[list[float]] = []
        self._cpu_in_turns = 0.0
        self._answer()
        self.startup = time.perf_counter() - began
        self._cpu = cpu_seconds(self._process.pid)

    def take(self, rounds: int) -> None:
        """One turn."""
        before = cpu_seconds(self._process.pid)
        self._ask(str(rounds))
        self.turns.append(self._answer()["seconds"])
        self._cpu_in_turns += cpu_seconds(self._process.pid) - before

    def warm(self, rounds: int) -> None:
        """Rounds that do not count: until every client's data has been read once."""
        self.take(rounds)
        self.turns.clear()
        self._cpu, self._cpu_in_turns = cpu_seconds(self._process.pid), 0.0

    def stop(self) -> dict[str, Any]:
        """What it measured, and the accuracy it reached. `cpu` has what was used between turns too."""
        self._restless = False
        cpu = cpu_seconds(self._process.pid) - self._cpu
        self._ask("stop")
        last = self._answer()
        self._process.communicate(timeout=120)
        self._errors.close()
        told = {"startup": self.startup, "cpu": cpu, "cpu_in_turns": self._cpu_in_turns, "turns": self.turns}
        return {**last, **told}

    def kill(self) -> None:
        """End it and what it started, if it is still there."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def _ask(self, line: str) -> None:
        assert self._process.stdin is not None
        os.killpg(self._process.pid, signal.SIGCONT)
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(_MARK):
                answer: dict[str, Any] = json.loads(line.removeprefix(_MARK))
                if self._restless:
                    os.killpg(self._process.pid, signal.SIGSTOP)
                return answer
        self.kill()
        self._errors.seek(0)
        raise RuntimeError(f"ended with {self._process.returncode}: {self._errors.read()[-500:]}")


def interleaved(
    starts: Mapping[str, Callable[[], Way]], rounds: int, turns: int, warm: int, skipped: dict[str, str]
) -> dict[str, dict[str, Any]]:
    """Start every way, give each its turn so many times, every other time in reverse; notes those that fail."""
    ways: dict[str, Way] = {}
    stopped: dict[str, dict[str, Any]] = {}

    def attempt(name: str, work: Callable[[], Any]) -> Any:
        try:
            return work()
        except (OSError, RuntimeError) as error:
            skipped[name] = str(error)
            ways.pop(name, None)
            print(f"left out: {name}: {error}", flush=True)

    try:
        for name, start in starts.items():
            if way := attempt(name, start):
                ways[name] = way
        for name in list(ways) if warm else []:
            attempt(name, lambda name=name: ways[name].warm(warm))  # type: ignore[misc]
        for turn in range(turns):
            for name in list(ways) if turn % 2 == 0 else list(reversed(ways)):
                attempt(name, lambda name=name: ways[name].take(rounds))  # type: ignore[misc]
        for name, way in list(ways.items()):
            if found := attempt(name, way.stop):
                stopped[name] = found
    finally:
        for way in ways.values():
            way.kill()
    return stopped
