"""Live progress: a bar in a terminal, plain lines elsewhere, JSON lines for programs."""

import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from flockwise.cli.elsewhere import elsewhere
from flockwise.numbers import number_of, shown
from flockwise.terminal import printable

if TYPE_CHECKING:
    from flockwise import Run

MOST_DATA = 8  # findings in the data that are told before the first round
# events worth a line
LOUD = ("flocks", "alike", "split", "quarantine", "rollback", "released", "confirmed", "skipped")


def follow(
    work: "Callable[..., Run]", *arguments: Any, as_json: bool = False, quiet: bool = False,
    on: Sequence[tuple[str, str]] = (), track: Sequence[str] = (), **options: Any,
) -> "Run":  # fmt: skip
    """Run, resume or fork: tell of every round, stop when asked to, and say what came of it."""
    with elsewhere(on, track) as others, stop_on_signal() as stop, Watch(as_json, quiet) as watch:

        def told(progress: Any) -> None:
            watch.round(progress)
            others.round(progress)

        try:
            finished = work(*arguments, **options, on_round=told, stop=lambda: stop() or watch.unheard)
        except KeyboardInterrupt:
            if watch.newest is None:
                raise
            where, last = watch.newest
            click.echo(f"stopped at once, after round {last}; go on with: flockwise resume {where}", err=True)
            raise click.exceptions.Exit(130) from None
        others.ended(finished.path)
    if finished.state == "stopped":
        last, why = int(max(finished.rounds, default=0)), finished.about.get("error", "")
        if why:  # nobody asked for it
            click.echo(f"error: {printable(why)}", err=True)
        click.echo(f"stopped after round {last}; go on with: flockwise resume {finished.path}", err=True)
        raise click.exceptions.Exit(1 if why else 130)
    watch.summary(finished)
    return finished


class Watch:
    """Tells the user about every round."""

    def __init__(self, as_json: bool = False, quiet: bool = False) -> None:
        self._json = as_json
        self._quiet = quiet
        self._started = time.perf_counter()
        self._first_round: int | None = None
        self.newest: tuple[Any, int] | None = None  # the run, and its last round that is on record
        self.unheard = False  # who read our lines is gone, as `head -1` is after one: a wish to stop
        self._bar: Any = None
        self._task: Any = None
        if not as_json and not quiet and sys.stderr.isatty():
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            self._bar = Progress(
                TextColumn("round"), MofNCompleteColumn(), BarColumn(), TimeRemainingColumn(),
                TextColumn("{task.description}"), transient=True,
            )  # fmt: skip

    def __enter__(self) -> "Watch":
        if self._bar:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar:
            self._bar.stop()

    def round(self, progress: Any) -> None:
        """One more round is on record."""
        self.newest = (progress.path, progress.round)
        if self._json:
            from flockwise.store.events import event_words

            facts = {key: value for key, value in progress.facts.items() if value == value}
            events = [event_words(event, progress.names) for event in progress.events]
            content = {"round": progress.round, "rounds": progress.rounds, **facts, "events": events}
            try:
                click.echo(json.dumps(content))
            except BrokenPipeError:
                self.unheard = True
                nowhere = os.open(os.devnull, os.O_WRONLY)  # or leaving would fail of it again
                os.dup2(nowhere, sys.stdout.fileno())
            return
        if self._quiet:
            return
        if self._first_round is None:
            self._first_round = progress.round
            self._started = time.perf_counter() - progress.seconds
            self._say(f"{progress.path}: {progress.engine}")
            if progress.note:
                self._say(f"note: {progress.note}")
            self._tell_data(progress)
        for event in progress.events:
            if event.kind in LOUD:
                who = f" ({_called(event.client, progress.names)})" if event.client is not None else ""
                self._say(f"round {progress.round}: {event.kind}: {printable(event.message)}{who}")
        line = _numbers(progress.facts, progress.score)
        if self._bar:
            if self._task is None:
                self._task = self._bar.add_task("", total=progress.rounds, completed=progress.round - 1)
            self._bar.update(self._task, completed=progress.round, description=line)
        else:
            done = progress.round - self._first_round + 1
            left = (time.perf_counter() - self._started) / done * (progress.rounds - progress.round)
            self._say(f"round {progress.round}/{progress.rounds}  {line}  {duration(left)} left")

    def _tell_data(self, progress: Any) -> None:
        """What was found in the data before the first round."""
        from flockwise.store import open_run

        # notes of round 0 are about the config, and told before anything is built
        kinds = ("data", "edited") if progress.round == 1 else ("data", "edited", "note")
        told = [event for event in open_run(progress.path).events if event.round == progress.round - 1]
        found = [event for event in told if event.kind in kinds]
        for event in found[:MOST_DATA]:
            who = "" if event.client is None else f"{_called(event.client, progress.names)}: "
            self._say(f"{event.kind}: {who}{printable(event.message)}")
        if len(found) > MOST_DATA:
            self._say(f"data: and {len(found) - MOST_DATA} more; see flockwise show {progress.path}")

    def summary(self, run: Any) -> None:
        """What came of it."""
        if self._json or self._quiet:
            return
        facts = {name: values[-1] for name, values in run.facts.items() if len(values)}
        took = duration(float(run.seconds.sum()))
        # A continuation has the last round of the run before on record, too: how its models do on the new data.
        trained = len(run.rounds) - ("continued_at" in run.environment)
        click.echo(f"{run.state}: {trained} rounds in {took}, {_numbers(facts, run.scoring.name)}")
        if run.about.get("note"):
            click.echo(f"note: {printable(run.about['note'])}")
        click.echo(f"run: {run.path}")

    def _say(self, text: str) -> None:
        if self._bar:
            self._bar.console.print(text, highlight=False, markup=False)
        else:
            click.echo(text, err=True)


@contextlib.contextmanager
def stop_on_signal() -> Iterator[Callable[[], bool]]:
    """The first Ctrl-C (or SIGTERM, or a terminal that closes) asks to stop after this round; the second stops at once."""
    asked = False

    def handler(number: int, frame: object) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True
        click.echo("stopping after this round; press Ctrl-C again to stop at once", err=True)

    before = {
        number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }
    try:
        yield lambda: asked
    finally:
        for number, old in before.items():
            signal.signal(number, old)


def _called(client: int, names: Any) -> str:
    from flockwise.store.client_notes import called

    return printable(called(client, names.get(client)))


def _numbers(facts: Any, score: str) -> str:
    parts = []
    if score in facts and facts[score] == facts[score]:
        title, worst = number_of(score).title, facts.get(f"{score}_worst", float("nan"))
        parts.append(f"{title} {shown(facts[score])} (worst {shown(worst)})")
    parts.append(f"flocks {int(facts.get('flocks', 1))}")
    if facts.get("apart"):
        parts.append(f"set apart {int(facts['apart'])}")
    if facts.get("rejected"):
        parts.append(f"rejected {int(facts['rejected'])}")
    return "  ".join(parts)


def duration(seconds: float) -> str:
    """Seconds in words."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} s"
