"""Several runs side by side: what differs between them, and what came of it."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from flockwise.config import parse_config
from flockwise.errors import FlockwiseError
from flockwise.report.encoding import number, numbers
from flockwise.report.scores import described_score, score_range
from flockwise.scoring import Scoring
from flockwise.store import Run

_BY_ITSELF = re.compile(
    r"\d{4}-\d\d-\d\d_\d{6}_"
)  # how a run is called that nobody gave a name: when and what
IGNORED = ("seed", "name")  # top-level fields that do not make a run another experiment
IGNORED_SECTIONS = ("engine", "checkpoint")
TELLING = ("strategy.name", "aggregation.name", "attack.name", "split.name", "data.name", "model.name")
MOST_POINTS = 400
OF_SCORE = ("", "_taking_part", "_worst", "_worst_group", "_std")  # of what models are compared by
FINAL = ("test_loss", "flocks", "ari", "purity", "apart", "false_alarms", "missed", "attack_success")  # fmt: skip
CONDITIONS = ("data", "split", "task", "attack", "faults", "root")  # what methods are compared under


def describe_comparison(runs: Sequence[Run]) -> dict[str, Any]:
    """The runs as the page reads them, those that differ in nothing but the seed together."""
    flat = [flattened(whole_config(run)) for run in runs]
    differing = sorted(
        {key for one in flat for key in one if len({_text(other.get(key)) for other in flat}) > 1}
    )
    telling = _enough([key for key in differing if not _ignored(key)], flat)
    described = [_one(run, config, telling) for run, config in zip(runs, flat, strict=True)]
    _name_alone(described)
    for one, config, counts in zip(described, flat, _count_once(runs, flat), strict=True):
        one |= {"counts": counts, "setting": _setting(config)}
    scores = {run.scoring.name: run.scoring for run in runs}
    final = [*(f"{name}{part}" for name in scores for part in OF_SCORE), *FINAL]
    return {
        "runs": described,
        "score": described_score(_most(runs)),
        "scores": [described_score(scoring) for scoring in scores.values()],
        "differences": [
            {"key": key, "values": [_text(config.get(key)) for config in flat]} for key in differing
        ],
        "facts": sorted({name for run in described for name in run["facts"]}),
        "final": [name for name in dict.fromkeys(final) if any(name in run["final"] for run in described)],
        "heat": _heat(described, flat, _most(runs)),
    }


def _name_alone(described: list[dict[str, Any]]) -> None:
    """An experiment of one run is called as its directory, where a person gave it a name that no other run has."""
    groups, names = (Counter(one[key] for one in described) for key in ("group", "id"))
    for one in described:
        given = not _BY_ITSELF.match(one["id"]) and names[one["id"]] == 1
        if groups[one["group"]] == 1 and given and one["id"] not in groups:
            one["group"] = one["id"]


def flattened(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """A config as `section.field` = value."""
    found: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, Mapping):
            found |= flattened(value, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = value
    return found


def whole_config(run: Run) -> dict[str, Any]:
    """The run's config with every default, also where an older release did not write them."""
    try:
        directory = run.environment.get("directory")
        return parse_config(
            run.config, directory=Path(directory) if isinstance(directory, str) else None
        ).written()
    except FlockwiseError:  # a piece that is no longer there: what is on record has to do
        return run.config


def _count_once(runs: Sequence[Run], flat: Sequence[Mapping[str, Any]]) -> list[bool]:
    """Whether each run counts: of runs with the same config and seed, the last to be made does."""
    last: dict[str, int] = {}
    order = sorted(range(len(runs)), key=lambda place: (runs[place].about.get("created", ""), place))
    for place in order:
        kept = {key: _text(value) for key, value in flat[place].items() if key == "seed" or not _ignored(key)}
        last[json.dumps(kept, sort_keys=True)] = place
    return [place in set(last.values()) for place in range(len(runs))]


def _setting(config: Mapping[str, Any]) -> str:
    """What a run was up against: the same for methods that may be compared with each other."""
    known = {key: _text(value) for key, value in config.items() if key.split(".")[0] in CONDITIONS}
    return json.dumps(known, sort_keys=True)


def _ignored(key: str) -> bool:
    return key in IGNORED or key.split(".")[0] in IGNORED_SECTIONS


def _enough(keys: list[str], flat: Sequence[Mapping[str, Any]]) -> list[str]:
    """The fields that tell the experiments apart, the best known first, without those that add nothing."""
    first = [key for key in TELLING if key in keys]
    kept = [*first, *[key for key in keys if key not in first]]
    for key in reversed(list(kept)):
        fewer = [other for other in kept if other != key]
        if _kinds(fewer, flat) == _kinds(kept, flat):
            kept = fewer
    return kept


def _kinds(keys: list[str], flat: Sequence[Mapping[str, Any]]) -> int:
    return len({tuple(_text(config.get(key)) for key in keys) for config in flat})


def _text(value: Any) -> str:
    if value is None:
        return "–"
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)


def _one(run: Run, config: Mapping[str, Any], telling: list[str]) -> dict[str, Any]:
    label = ", ".join(_brief(key, _text(config.get(key))) for key in telling)
    rows = np.unique(
        np.rint(np.linspace(0, len(run.rounds) - 1, min(len(run.rounds), MOST_POINTS))).astype(int)
    )
    facts = run.facts
    final = {name: _newest(values) for name, values in facts.items()}
    return {
        "id": run.path.resolve().name, "name": run.title, "state": run.state,
        "seed": run.config.get("seed"), "group": label or run.title,
        "rounds": run.rounds[rows].tolist() if len(rows) else [],
        "seconds": number(float(run.seconds.sum()), 4) if len(run.rounds) else 0,
        "facts": {name: numbers(values[rows]) for name, values in facts.items()} if len(rows) else {},
        "final": {name: value for name, value in final.items() if value is not None},
    }  # fmt: skip


def _brief(key: str, value: str) -> str:
    return value if key in TELLING else f"{key} {value}"


def _newest(values: np.ndarray) -> float | int | None:
    seen = values[np.isfinite(values)]
    return number(float(seen[-1])) if len(seen) else None


def _most(runs: Sequence[Run]) -> Scoring:
    """What most of the runs compare models by."""
    return Counter(run.scoring for run in runs).most_common(1)[0][0]


def _heat(runs: list[dict[str, Any]], flat: list[dict[str, Any]], scoring: Scoring) -> dict[str, Any] | None:
    """Attack by aggregation rule (or by strategy), where the runs vary in the attack."""
    attacks = [_text(config.get("attack.name")) for config in flat]
    rules = [_text(config.get("aggregation.name")) for config in flat]
    strategies = [_text(config.get("strategy.name")) for config in flat]
    both = len(set(rules)) > 1 and len(set(strategies)) > 1
    rows = [f"{s}, {r}" for s, r in zip(strategies, rules, strict=True)] if both else rules
    rows = strategies if len(set(rows)) == 1 else rows
    if len(set(attacks)) < 2 or len(set(rows)) < 2:
        return None
    cells: dict[tuple[str, str], list[float]] = {}
    for run, attack, row in zip(runs, attacks, rows, strict=True):
        if run["counts"] and scoring.name in run["final"]:
            cells.setdefault((attack, row), []).append(run["final"][scoring.name])
    columns, names = sorted(set(attacks), key=lambda a: (a != "none", a)), sorted(set(rows))
    low, high = score_range(scoring, np.array([float(np.mean(values)) for values in cells.values()]))
    return {"attacks": columns, "rules": names, "low": low, "high": high, "cells": [
        [columns.index(attack), names.index(row), number(float(np.mean(values)), 4), len(values)]
        for (attack, row), values in sorted(cells.items())
    ]}  # fmt: skip
