"""logs: what happens in runs as JSON lines, for whatever collects logs."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from flockwise.store import Run


@click.command()
@click.argument("place", type=click.Path(path_type=Path), default=Path("runs"))
@click.option("--follow", "-f", is_flag=True, help="Go on as runs do, until Ctrl-C.")
@click.option(
    "--every",
    type=click.FloatRange(min=0.1),
    default=2.0,
    show_default=True,
    help="Seconds between two looks.",
)
def logs(place: Path, follow: bool, every: float) -> None:
    """Write the rounds, events and states of the runs in PLACE (a run, or a folder of runs) as JSON lines.

    Every line has `time` (when it was read), `run` and `type`: round, event, state or unreadable. A round that is trained
    again after a crash is written again.
    """
    told: dict[str, Follower] = {}
    while True:
        for path in _paths(place):
            for line in told.setdefault(path.name, Follower()).news(path):
                now = datetime.now(UTC).isoformat(timespec="milliseconds")
                click.echo(json.dumps({"time": now, "run": path.name, **line}))
        if not follow:
            return
        time.sleep(every)


@dataclass
class Follower:
    """How much of a run has been told."""

    round: int = 0
    events: set[str] = field(default_factory=set)
    state: str = ""
    names: dict[int, str] = field(default_factory=dict)

    def news(self, path: Path) -> Iterator[dict[str, Any]]:
        """What has been added since; a run that cannot be read is told of once."""
        from flockwise.errors import RunError
        from flockwise.store import open_run

        try:
            yield from self._added(open_run(path))
        except RunError as error:
            yield from self._changed("unreadable", {"type": "unreadable", "error": str(error)[:500]})

    def _added(self, run: "Run") -> Iterator[dict[str, Any]]:
        rounds = run.rounds.tolist()
        if rounds and rounds[-1] < self.round:  # it went back to a checkpoint
            self.round = rounds[-1]
        facts, events = run.facts, run.events
        for place, number in enumerate(rounds):
            if number > self.round:
                values = {name: float(held[place]) for name, held in facts.items()}
                known = {name: value for name, value in values.items() if value == value}
                yield {"type": "round", "round": number, "seconds": float(run.seconds[place]), **known}
        for event in events:
            line = {
                "type": "event", "round": event.round, "kind": event.kind, "client": event.client,
                "message": event.message, "detail": dict(event.detail),
            }  # fmt: skip
            key = json.dumps(line, sort_keys=True, default=str)
            if key not in self.events:
                self.events.add(key)
                told = {} if event.client is None else {"name": self._name(run, event.client)}
                yield {**line, **told}
        self.round = rounds[-1] if rounds else 0
        error = {"error": run.about["error"]} if run.about.get("error") and run.state != "finished" else {}
        yield from self._changed(run.state, {"type": "state", "state": run.state, **error})

    def _name(self, run: "Run", client: int) -> str:
        from flockwise.store.compact import MANY

        if client not in self.names and len(run.clients) < MANY:
            self.names = {row["client"]: str(row["name"]) for row in run.clients}
        return self.names.get(client, f"client {client}")

    def _changed(self, state: str, line: dict[str, Any]) -> Iterator[dict[str, Any]]:
        if state != self.state:
            self.state = state
            yield line


def _paths(place: Path) -> list[Path]:
    if (place / "config.toml").is_file():
        return [place]
    return sorted(config.parent for config in place.glob("*/config.toml"))
