"""Events of a run told to a webhook or a command while it goes.

What an event says may come from a client, so it never meets a shell: a command is a list of words that were typed by the
user, and the event comes to it as JSON on standard input; to a webhook, as the body of a POST.
"""

import json
import re
import shlex
import subprocess
import urllib.request
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self

from flockwise.errors import ConfigError
from flockwise.plugins import nearest
from flockwise.runs.handle import Run
from flockwise.runs.loop import Progress
from flockwise.store.events import event_words

PATIENCE = 10.0  # seconds that a command or a webhook has
MOST_WAITING = 1000
ENDS = ("finished", "stopped", "failed")  # not events of a round, but of the run
KINDS = (
    "alarm", "alike", "away", "confirmed", "continued", "damaged", "data", "dropout", "edited", "failed", "finished",
    "flocks", "forgotten", "heard", "joined", "judged", "late", "left", "legacy", "moved", "note", "own", "placed",
    "quarantine",
    "refused", "rejected", "released", "retry", "returned", "rollback", "settled", "silent", "skipped", "split", "stopped",
    "trainer", "trial", "turned", "unchosen", "unmeasured",
)  # fmt: skip


class Alerts:
    """A callback for `on_round` that tells events of some kinds; `warn` hears of what could not be delivered.

        with Alerts([("quarantine", "https://example.org/hook"), ("failed", "notify-send Flockwise")]) as alerts:
            run = fw.run(config, on_round=alerts)
            alerts.ended(run)

    Deliveries wait for each other, never the run for them.
    """

    def __init__(
        self, rules: Iterable[tuple[str, str]], warn: Callable[[str], object] = lambda told: None
    ) -> None:
        self._rules = [(_kind(kind), _way(target)) for kind, target in rules]
        self._warn, self._waiting = warn, 0
        self._line = ThreadPoolExecutor(max_workers=1, thread_name_prefix="alerts")

    def __call__(self, progress: Progress) -> None:
        """One more round is on record."""
        for event in progress.events:
            told = event_words(event, progress.names)
            self._tell(event.kind, {"run": str(progress.path), "round": progress.round, **told})

    def ended(self, run: Run) -> None:
        """The run is over."""
        why = run.about.get("error", "") if run.state != "finished" else ""
        last = int(run.rounds[-1]) if len(run.rounds) else 0
        self._tell(run.state, {"run": str(run.path), "round": last, "kind": run.state, "message": why})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._line.shutdown(wait=True)

    def _tell(self, kind: str, content: dict[str, Any]) -> None:
        body = json.dumps(content).encode()
        for wanted, deliver in self._rules:
            if wanted != kind:
                continue
            if self._waiting >= MOST_WAITING:
                self._warn(f"--on {kind}: {MOST_WAITING} events wait to be told; this one is not")
                continue
            self._waiting += 1
            self._line.submit(self._deliver, kind, deliver, body)

    def _deliver(self, kind: str, deliver: Callable[[bytes], None], body: bytes) -> None:
        try:
            deliver(body)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            self._warn(f"--on {kind}: could not be told: {str(error)[:300]}")
        finally:
            self._waiting -= 1


def _kind(kind: str) -> str:
    if not re.fullmatch(r"[a-z][a-z_-]{0,40}", kind):
        raise ConfigError(f"--on {kind}: must be the kind of an event; {nearest(kind, list(KINDS))}")
    return kind


def unknown_kinds(rules: Iterable[tuple[str, str]]) -> list[str]:
    """A line for each kind that only a stage of the user's own could have."""
    return [
        f"--on {kind}: no event of Flockwise's own is called so; {nearest(kind, list(KINDS))}"
        for kind, _ in rules
        if kind not in KINDS
    ]


def _way(target: str) -> Callable[[bytes], None]:
    if target.startswith(("http://", "https://")):
        return lambda body: _post(target, body)
    try:
        words = shlex.split(target)
    except ValueError as error:
        raise ConfigError(f"--on ... {target}: cannot be read as a command: {error}") from error
    if not words:
        raise ConfigError("--on: needs a command or an http address behind the kind")
    return lambda body: _command(words, body)


def _post(address: str, body: bytes) -> None:
    headers = {"Content-Type": "application/json", "User-Agent": "flockwise"}
    request = urllib.request.Request(address, data=body, headers=headers, method="POST")
    with urllib.request.urlopen(request, timeout=PATIENCE):
        pass


def _command(words: list[str], body: bytes) -> None:
    done = subprocess.run(
        words, input=body, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=PATIENCE, check=False
    )
    if done.returncode:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise OSError(f"{words[0]} ended with {done.returncode}{': ' if last else ''}{''.join(last)[:200]}")
