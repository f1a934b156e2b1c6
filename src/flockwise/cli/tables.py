"""Rows of facts as a table of text, and the row that stands for a run."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flockwise.numbers import shown
from flockwise.terminal import printable

if TYPE_CHECKING:
    from flockwise.store import Run


def run_row(path: Path, found: "Run | Exception") -> dict[str, Any]:
    """What there is to say about a run in one line; None where there is nothing."""
    if isinstance(found, Exception):
        names = ("strategy", "data", "round", "accuracy", "flocks", "apart")
        return {"run": str(path), "state": "unreadable", **dict.fromkeys(names)}
    last = {name: float(values[-1]) for name, values in found.facts.items() if len(values)}
    known = {name: value for name, value in last.items() if value == value}
    counts = {name: int(known[name]) if name in known else None for name in ("flocks", "apart")}
    score = found.scoring.name
    return {
        "run": str(path), "state": found.state, "strategy": found.config.get("strategy", {}).get("name"),
        "data": found.about.get("data") or found.config.get("data", {}).get("name"),
        "round": f"{int(found.rounds[-1]) if len(found.rounds) else 0}/{found.goal or '?'}",
        score: known.get(score), **counts, **_lineage(found),
    }  # fmt: skip


def _lineage(found: "Run") -> dict[str, str]:
    """The run that this one goes on from, where it does."""
    return (
        {} if found.parent is None else {"parent": f"{Path(found.parent[0]).name}, round {found.parent[1]}"}
    )


def client_table(found: "Run") -> list[dict[str, Any]]:
    """A row for each client: who it is, where it is, how it does, and what is known of it."""
    newest, score = {}, found.scoring.name
    for name in ("flock", "apart", score):
        rounds, values = found.array(name)
        newest[name] = values[-1].tolist() if len(rounds) and values.ndim == 2 else []
    notes = list(dict.fromkeys(key for client in found.clients for key in client["about"]))
    rows = []
    for place, client in enumerate(found.clients):
        now = {name: values[place] if place < len(values) else None for name, values in newest.items()}
        tested = now[score] if now[score] == now[score] else None
        flock = "apart" if now["apart"] else now["flock"] if now["flock"] != -1 else None
        rows.append({
            "client": client["client"], "name": client["name"], "flock": flock, score: tested,
            "train": client["train"], "test": client["test"], **{key: client["about"].get(key) for key in notes},
        })  # fmt: skip
    return rows


def echo_table(rows: Sequence[Mapping[str, Any]]) -> None:
    """The rows in columns, below the names of their fields; a row that does not have one shows a dash."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = [names, *([cell(row.get(name)) for name in names] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        click.echo("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())


def cell(value: Any) -> str:
    """A value as it stands in a table."""
    if value is None:
        return "-"
    return shown(value) if isinstance(value, float) else printable(str(value))
