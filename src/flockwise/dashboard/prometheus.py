"""Runs as numbers for Prometheus: its text format, version 0.0.4."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from flockwise import __version__

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_OF_A_RUN = {  # our name of a number: its name there, its kind, what it is
    "rounds": ("flockwise_run_round", "gauge", "The last closed round."),
    "planned": ("flockwise_run_rounds_planned", "gauge", "The round to which the run goes."),
    "clients": ("flockwise_run_clients", "gauge", "Clients that have a place."),
    "participants": (
        "flockwise_run_participants",
        "gauge",
        "Clients whose replies were used in the last round.",
    ),
    "accuracy": ("flockwise_run_accuracy", "gauge", "Mean accuracy over clients, as last tested."),
    "flocks": ("flockwise_run_flocks", "gauge", "Flocks."),
    "apart": ("flockwise_run_clients_apart", "gauge", "Clients that are set apart."),
    "rejected": ("flockwise_run_rejected_total", "counter", "Replies that were rejected."),
    "seconds": ("flockwise_run_seconds_total", "counter", "Time that rounds took."),
    "damaged": ("flockwise_run_damaged", "gauge", "1 if the record is damaged."),
    "changed": ("flockwise_run_changed_timestamp_seconds", "gauge", "When the record last changed."),
}


def exposition(runs: Sequence[Mapping[str, Any]]) -> str:
    """All runs of a folder, from what the dashboard lists of each."""
    states = Counter(str(run["state"]) for run in runs)
    lines = [
        *_metric("flockwise_build_info", "gauge", "The version that tells.", [({"version": __version__}, 1)])
    ]
    lines += _metric(
        "flockwise_runs", "gauge", "Runs by state.", [({"state": s}, n) for s, n in sorted(states.items())]
    )
    told = [({"run": str(run["id"]), "state": str(run["state"])}, 1) for run in runs]
    lines += _metric("flockwise_run_state", "gauge", "1 for the state that a run is in.", told)
    scores = [
        ({"run": str(run["id"]), "metric": str(run["metric"]), "better": str(run["better"])}, run["score"])
        for run in runs
        if _is_number(run.get("score"))
    ]
    lines += _metric(
        "flockwise_run_score",
        "gauge",
        "Mean over clients of what the task compares models by, as last tested.",
        scores,
    )
    for key, (name, kind, meaning) in _OF_A_RUN.items():
        known = [({"run": str(run["id"])}, run[key]) for run in runs if _is_number(run.get(key))]
        lines += _metric(name, kind, meaning, known)
    return "\n".join(lines) + "\n"


def _metric(
    name: str, kind: str, meaning: str, samples: Iterable[tuple[Mapping[str, str], float]]
) -> list[str]:
    return [
        f"# HELP {name} {meaning}",
        f"# TYPE {name} {kind}",
        *(f"{name}{{{_labels(labels)}}} {value!r}" for labels, value in samples),
    ]


def _labels(labels: Mapping[str, str]) -> str:
    return ",".join(f'{key}="{_escaped(value)}"' for key, value in labels.items())


def _escaped(value: str) -> str:
    """A name is a directory's, and may hold anything; a line must stay one line."""
    plain = value.encode("utf-8", "replace").decode("utf-8")
    text = "".join(char if char.isprintable() else "?" for char in plain.replace("\n", " "))
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and value == value
