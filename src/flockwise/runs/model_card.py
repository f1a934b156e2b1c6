"""What a saved model is: whose it is, what it was trained on, how well it does, and what is not known of it."""

import re
from typing import Any

import numpy as np

from flockwise import __version__
from flockwise.runs.sample_shape import samples_on_record
from flockwise.store import Run
from flockwise.store.summary import client_summary

_MOST_NAMED = 200  # clients that a card names one by one


def card_of(run: Run, which: str, client: int | None, flock: int | None, at: int | None) -> dict[str, Any]:
    """The card as plain data. Scores are those of the last round, on each client's own test data."""
    rows = client_summary(run)
    if client is not None:
        rows = [row for row in rows if row["client"] == client]
    elif flock is not None:
        rows = [row for row in rows if row["flock"] == flock]
    else:
        rows = [row for row in rows if row["state"] == "takes part"]
    told, score = samples_on_record(run), run.scoring.name
    scores = [row[score] for row in rows if row.get(score) is not None]
    last = int(run.rounds[-1]) if len(run.rounds) else 0
    return {
        "model": which,
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
        "score": {
            "name": score, "better": run.scoring.better, "of_round": last, "clients_tested": len(scores),
            "mean": float(np.mean(scores)) if scores else None,
            "worst": (min if run.scoring.better == "higher" else max)(scores) if scores else None,
        },
        "privacy": _privacy(run),
        "config": run.config,
    }  # fmt: skip


def markdown(card: dict[str, Any]) -> str:
    """The card for people; names of clients are anyone's text, and stay text."""
    clients, data, score = card["clients"], card["data"], card["score"]
    names = ", ".join(_plain(name) for name in clients["names"])
    more = clients["count"] - len(clients["names"])
    mean = "not tested" if score["mean"] is None else f"mean {score['mean']:.4g}, worst {score['worst']:.4g}"
    strategy = card["config"].get("strategy", {}).get("name")
    lines = [
        f"# Model of {_plain(card['model'])}", "",
        f"From the run {_plain(card['run'])} ({card['state']}), after round {card['round']}, by Flockwise "
        f"{card['flockwise']}.", "",
        "| | |", "|---|---|",
        f"| clients | {clients['count']}: {names}{f', and {more} more' if more > 0 else ''} |",
        f"| training samples | {clients['training_samples']} |",
        f"| data | {_plain(data['name'])} |",
        f"| input | {_plain(data.get('shape'))} {_plain(', '.join(data.get('columns') or []))} |",
        f"| labels | {_plain(', '.join(data.get('class_names') or []))} |",
        f"| {_plain(score['name'])} ({score['better']} is better) | {mean}, of {score['clients_tested']} clients on their "
        f"own test data after round {score['of_round']} |",
        f"| method | {_plain(strategy)} |",
        f"| privacy | {_plain(card['privacy']['words'])} |",
        f"| goes on from | {_plain(card['parent'] or '-')} |", "",
        "Not known: how it does on anybody else's data. Every setting is in the .json beside this file.", "",
    ]  # fmt: skip
    return "\n".join(lines)


def _privacy(run: Run) -> dict[str, Any]:
    """What the run says it spent, if it says so."""
    spent = run.facts.get("epsilon")
    known = spent[np.isfinite(spent)] if spent is not None else np.zeros(0)
    if not len(known):
        return {"epsilon": None, "words": "no differential privacy: updates may tell of samples"}
    return {
        "epsilon": float(known[-1]),
        "words": f"differential privacy, epsilon {known[-1]:.4g} as of the last round",
    }


def _plain(value: object) -> str:
    """Text that no reader of Markdown takes for anything else."""
    text = "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in str(value))
    return re.sub(r"([\\`*_{}\[\]()#+!|<>&~$@])", r"\\\1", text)
