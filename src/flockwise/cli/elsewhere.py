"""--on and --track: who else is told of a run while it goes."""

import contextlib
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flockwise.cli.options import Decorator
from flockwise.terminal import printable

if TYPE_CHECKING:
    from flockwise.runs.alerts import Alerts

ON: Decorator = click.option(
    "--on", nargs=2, multiple=True, metavar="KIND TARGET",
    help="Tell events of a kind (quarantine, flocks, failed, ...) to a command or http address, as JSON.",
)  # fmt: skip
TRACK: Decorator = click.option(
    "--track", multiple=True, metavar="NAME=WHERE",
    help="Follow it in mlflow=http://..., tensorboard=FOLDER or wandb=PROJECT.",
)  # fmt: skip


def telling_others(command: Any) -> Any:
    """The options --on and --track."""
    return ON(TRACK(command))


class Elsewhere:
    """Everybody else who is told of rounds."""

    def __init__(self, listeners: Sequence[Any], alerts: "Alerts | None") -> None:
        self._listeners, self._alerts, self._path = listeners, alerts, None

    def round(self, progress: Any) -> None:
        """One more round is on record."""
        self._path = progress.path
        for listener in self._listeners:
            listener(progress)

    def ended(self, path: Path | None = None) -> None:
        """The run is over, or failed."""
        from flockwise.runs import open_run

        where = path or self._path
        if self._alerts is not None and where is not None:
            self._alerts.ended(open_run(where))


@contextlib.contextmanager
def elsewhere(on: Sequence[tuple[str, str]], track: Sequence[str]) -> Iterator[Elsewhere]:
    """Open the ways to whoever is told, and close them when the run is over."""
    with contextlib.ExitStack() as stack:
        listeners: list[Any] = []
        alerts = None
        if track:
            from flockwise.trackers import tracker_from

            stack.enter_context(_warnings_in_words())
            listeners += [stack.enter_context(tracker_from(said)) for said in track]
        if on:
            from flockwise.runs.alerts import Alerts, unknown_kinds

            for line in unknown_kinds(on):
                click.echo(f"note: {printable(line)}", err=True)
            alerts = stack.enter_context(
                Alerts(on, lambda told: click.echo(f"note: {printable(told)}", err=True))
            )
            listeners.append(alerts)
        others = Elsewhere(listeners, alerts)
        try:
            yield others
        except Exception:
            others.ended()
            raise


@contextlib.contextmanager
def _warnings_in_words() -> Iterator[None]:
    """Warnings of trackers as lines of ours."""
    before = warnings.showwarning

    def show(message: Any, category: Any, filename: str, lineno: int, *more: Any) -> None:
        if "flockwise" in filename and category is UserWarning:
            click.echo(f"note: {printable(str(message))}", err=True)
        else:
            before(message, category, filename, lineno, *more)

    warnings.showwarning = show  # type: ignore[assignment]
    try:
        yield
    finally:
        warnings.showwarning = before
