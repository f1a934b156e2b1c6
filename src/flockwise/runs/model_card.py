"""What a saved model is: whose it is, what it was trained on, how well it does, and what is not known of it."""

import re
from typing import Any

import numpy as np

from flockwise import __version__
from flockwise.numbers import number_of
from flockwise.runs.sample_shape import samples_on_record
from flockwise.store import Run
from flockwise.store.summary import client_summary, last_measured, measures

_MOST_NAMED = 200  # clients that a card names one by one


def card_of(run: Run, which: str, client: int | None, flock: int | None, at: int | None) -> dict[str, Any]:
    """The card as plain data, as of round `at` (the last, if not given): who had the model, and how it did for them."""
    everyone = client_summary(run, at=at)
    if client is not None:
        rows = [row for row in everyone if row["client"] == client]
    elif flock is not None:
        rows = [row for row in everyone if row["flock"] == flock]
    else:
        rows = [row for row in everyone if row["state"] == "takes part"]
    flocks = {row["flock"] for row in rows}
    told = samples_on_record(run)
    last = int(run.rounds[-1]) if len(run.rounds) else 0
    metrics = {
        name: _measured(run, name, [row["client"] for row in rows], len(everyone), at)
        for name in measures(run)
    }
    return {
        "model": which, "flock": flocks.pop() if len(flocks) == 1 else None,
        "run": run.path.name, "state": run.state, "round": at if at is not None else last, "flockwise": __version__,
        "created": run.about.get("created"), "parent": run.environment.get("parent"),
        "clients": {
            "count": len(rows), "names": [row["name"] for row in rows[:_MOST_NAMED]],
            "training_samples": sum(row["train"] or 0 for row in rows),
        },
        "data": {
            "name": run.about.get("data") or run.config.get("data", {}).get("name"),
            **({} if told is None else told.model_dump()),
        },
        "score": {"name": run.scoring.name, **metrics[run.scoring.name]},
        "metrics": metrics,
        "privacy": _privacy(run, at),
        "config": run.config,
    }  # fmt: skip


def _measured(run: Run, name: str, clients: list[int], count: int, at: int | None) -> dict[str, Any]:
    """One number over the clients that have the model, each on its own test data."""
    round, values = last_measured(run, name, count, at)
    seen = [float(value) for value in values[clients] if np.isfinite(value)]
    better = run.scoring.better if name == run.scoring.name else number_of(name).better
    worst = {"higher": min, "lower": max}.get(better)
    return {
        "better": better, "of_round": round, "clients_tested": len(seen),
        "mean": float(np.mean(seen)) if seen else None, "worst": worst(seen) if seen and worst else None,
    }  # fmt: skip


def markdown(card: dict[str, Any]) -> str:
    """The card for people; names of clients are anyone's text, and stay text."""
    clients, data = card["clients"], card["data"]
    names = ", ".join(_plain(name) for name in clients["names"])
    more = clients["count"] - len(clients["names"])
    strategy = card["config"].get("strategy", {}).get("name")
    lines = [
        f"# Model of {_plain(card['model'])}", "",
        f"From the run {_plain(card['run'])} ({card['state']}), after round {card['round']}, by Flockwise "
        f"{card['flockwise']}.", "",
        "| | |", "|---|---|",
        f"| flock | {'-' if card['flock'] is None else card['flock']} |",
        f"| clients | {clients['count']}: {names}{f', and {more} more' if more > 0 else ''} |",
        f"| training samples | {clients['training_samples']} |",
        f"| data | {_plain(data['name'])} |",
        f"| input | {_plain(data.get('shape'))} {_plain(', '.join(data.get('columns') or []))} |",
        f"| labels | {_plain(', '.join(data.get('class_names') or []))} |",
        *(f"| {_plain(name)}{_way(told)} | {_numbers(told)} |" for name, told in card["metrics"].items()),
        f"| method | {_plain(strategy)} |",
        f"| privacy | {_plain(card['privacy']['words'])} |",
        f"| goes on from | {_plain(card['parent'] or '-')} |", "",
        "Not known: how it does on anybody else's data. Every setting is in the .json beside this file.", "",
    ]  # fmt: skip
    return "\n".join(lines)


def _way(told: dict[str, Any]) -> str:
    return "" if told["better"] == "neither" else f" ({told['better']} is better)"


def _numbers(told: dict[str, Any]) -> str:
    if told["mean"] is None:
        return "not tested"
    worst = "" if told["worst"] is None else f", worst {told['worst']:.4g}"
    of = f"of {told['clients_tested']} clients on their own test data after round {told['of_round']}"
    return f"mean {told['mean']:.4g}{worst}, {of}"


def _privacy(run: Run, at: int | None) -> dict[str, Any]:
    """What the run says it spent, if it says so: Flockwise adds no noise itself, but a method of one's own may."""
    spent = run.facts.get("epsilon", np.zeros(0))
    known = [
        (round, float(value))
        for round, value in zip(run.rounds.tolist(), spent, strict=False)
        if np.isfinite(value) and (at is None or round <= at)
    ]
    if not known:
        return {
            "epsilon": None,
            "words": "no noise was added, so there is no epsilon: updates may tell of samples",
        }
    round, epsilon = known[-1]
    return {
        "epsilon": epsilon,
        "words": f"the method says that it added noise: epsilon {epsilon:.4g} as of round {round}; not checked here",
    }


def _plain(value: object) -> str:
    """Text that no reader of Markdown takes for anything else."""
    text = "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in str(value))
    return re.sub(r"([\\`*_{}\[\]()#+!|<>&~$@])", r"\\\1", text)
