"""Keeps a Flower run going: when its ServerApp dies, submits it again, and it goes on from the run directory."""

import contextlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flockwise.errors import EngineError, RunError
from flockwise.flower.command import DETAILS, PLAIN_TEXT, RUN, RUNS, STATUS, Unreachable, flwr, is_insecure
from flockwise.store import Run, open_run
from flockwise.terminal import printable

_ENDED = ("finished", "stopped")
PATIENCE = 300.0  # seconds without an answer of the SuperLink after which we give up
_LONGEST = 30.0  # seconds between two tries, at most
_BARREN = 2  # submissions in a row that close no round; the next one would not either


def supervise(
    app: str | Path, superlink: str, run: str | Path, *, restarts: int = 5, run_config: str = "",
    home: Path | None = None, pause: float = 1.0, patience: float = PATIENCE,
    say: Callable[[str], object] = lambda line: None,
) -> Run:  # fmt: skip
    """Submit an app with `flwr run` and see it through to the end of its run directory.

    `run` is the directory that the app's `Flocks(run=...)` writes; it must be visible from here, that is, on
    the machine of the SuperLink or on a shared disk. The app is submitted again when its ServerApp died or
    failed, at most `restarts` times; not if two submissions in a row closed no round, or a person stopped it.
    A SuperLink that does not answer is asked again, for `patience` seconds, at longer and longer intervals.
    """
    path, barren = Path(run), 0
    if is_insecure(superlink, home):
        say(PLAIN_TEXT)
    for attempt in range(restarts + 1):
        before = _rounds(path)
        number = _patiently(lambda: submit(app, superlink, run_config, home), pause, patience, say)
        say(f"submitted as Flower run {number}" + (f" (restart {attempt} of {restarts})" if attempt else ""))
        ended = _watch(path, superlink, number, home, pause, patience, say)
        found = _opened(path)
        # The directory may hold an earlier run, which says nothing of how this submission went.
        if found is not None and found.state in _ENDED and ended in (*_ENDED, "finished:completed"):
            _settle(superlink, number, home)
            return found
        if ended == "finished:stopped":
            raise EngineError(
                f"Flower run {number} was stopped by hand; the same command goes on with {path}"
            )
        if ended == "failed" and found is not None and _rounds(path) >= (found.goal or 0):
            raise EngineError(
                f"{path}: {printable(found.about.get('error', ended))}"
            )  # nothing is left to go on with
        why = _reason(superlink, number, home)
        say(f"Flower run {number} is over before its time: {ended}" + (f": {why}" if why else ""))
        _stop(superlink, number, home)
        barren = 0 if _rounds(path) > before else barren + 1
        if barren == _BARREN:
            raise EngineError(
                f"gave up: {barren} submissions in a row closed no round: {why or ended}; see `flwr log {number}`"
            )
    raise EngineError(
        f"{path}: gave up after {restarts} restarts; see `flwr log` and `flockwise show {path}`"
    )


def submit(app: str | Path, superlink: str, run_config: str = "", home: Path | None = None) -> str:
    """Submit an app; the number of its run."""
    more = ["--run-config", run_config] if run_config else []
    answer = flwr("run", str(app), superlink, *more, home=home)
    return str(answer[RUN])


def status(superlink: str, number: str, home: Path | None = None) -> str:
    """What the SuperLink says of a run, such as `running` or `finished:failed`."""
    return str(_listed(superlink, number, home).get(STATUS, "unknown"))


def _reason(superlink: str, number: str, home: Path | None) -> str:
    """What the SuperLink knows of why a run failed, in one line."""
    try:
        told = str(_listed(superlink, number, home).get(DETAILS) or "")
    except EngineError:
        return ""
    return printable(told.strip().splitlines()[-1][:300]) if told.strip() else ""


def _listed(superlink: str, number: str, home: Path | None) -> dict[str, Any]:
    runs = flwr("list", superlink, "--run-id", number, home=home).get(RUNS) or [{}]
    return dict(runs[0])


def _watch(
    path: Path, superlink: str, number: str, home: Path | None, pause: float, patience: float,
    say: Callable[[str], object],
) -> str:  # fmt: skip
    asked = heard = time.monotonic()
    told, began = 0, False
    while True:
        time.sleep(pause)
        found, state = _opened(path), ""
        if found is not None:
            state, rounds = found.state, found.rounds.tolist()
            if rounds and rounds[-1] > told:
                told = rounds[-1]
                say(f"round {told} of {found.goal}")
            began = began or state == "running"
            if began and state != "running":
                return state  # its writer is gone, whatever the SuperLink still believes
        if time.monotonic() - asked >= 15 * pause:
            asked = time.monotonic()
            try:
                known, heard = status(superlink, number, home), time.monotonic()
            except EngineError as error:  # the SuperLink may be restarting
                known = ""
                if time.monotonic() - heard >= patience:
                    raise _gave_up(error, patience) from error
            # A submission that seemed to fail may have been taken after all: then another run writes the directory,
            # ours finds it locked and fails, and there is nothing to do but to see that other one through.
            if known.startswith("finished") and (state != "running" or known == "finished:stopped"):
                return known


def _patiently(ask: Callable[[], str], pause: float, patience: float, say: Callable[[str], object]) -> str:
    """Ask again while the SuperLink does not answer, after twice as long each time; any other error is told at once."""
    began, wait = time.monotonic(), pause
    while True:
        try:
            return ask()
        except Unreachable as error:
            if time.monotonic() - began + wait > patience:
                raise _gave_up(error, patience) from error
            say(f"the SuperLink does not answer; asked again in {wait:g} s")
            time.sleep(wait)
            wait = min(2 * wait, _LONGEST)


def _gave_up(error: EngineError, patience: float) -> EngineError:
    return EngineError(
        f"gave up: the SuperLink did not answer for {patience:g} s: {' '.join(str(error).split())}"
    )


def _rounds(path: Path) -> int:
    found = _opened(path)
    return int(found.rounds[-1]) if found is not None and len(found.rounds) else 0


def _opened(path: Path) -> Run | None:
    try:
        return open_run(path)
    except RunError:
        return None


def _settle(superlink: str, number: str, home: Path | None) -> None:
    """Give the ServerApp a moment to end by itself, so that the SuperLink calls it completed."""
    for _ in range(20):
        with contextlib.suppress(EngineError):
            if status(superlink, number, home).startswith("finished"):
                return
        time.sleep(1.0)


def _stop(superlink: str, number: str, home: Path | None) -> None:
    try:
        flwr("stop", number, superlink, home=home)
    except EngineError:
        return  # it is over already
