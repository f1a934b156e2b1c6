"""The run in a few numbers and one or two sentences."""

from typing import Any

import numpy as np

from flockwise.numbers import number_of, shown
from flockwise.report.encoding import number, whole
from flockwise.report.places import QUARANTINED, Places
from flockwise.store import Run


def headline(run: Run, known: Places) -> dict[str, Any]:
    """Numbers for the top of the page, and the story in words."""
    facts, rounds = run.facts, run.rounds
    score = run.scoring.name
    values = facts.get(score, np.full(len(rounds), np.nan))
    turn = _turning_point(run, known)
    before = _newest(values[rounds < turn]) if turn is not None else None
    numbers = {
        "rounds": int(rounds[-1]) if len(rounds) else 0,
        "planned": whole(run.goal),
        "clients": len(run.clients) or known.places.shape[1],
        "score": number(_newest(values), 4),
        "before": number(before, 4),
        "turn": turn,
        "worst": number(_newest(facts.get(f"{score}_worst")), 4),
        "flocks": number(_newest(facts.get("flocks"))),
        "apart": number(_newest(facts.get("apart"))),
        "ari": number(_newest(facts.get("ari")), 4),
        "purity": number(_newest(facts.get("purity")), 4),
        "seconds": number(float(run.seconds.sum()), 4) if len(rounds) else 0,
        "timed": int(np.count_nonzero(run.seconds)),  # of a continued run not those before it
        **_caught(run, known),
    }
    return {**numbers, "story": _story(run, numbers)}


def _newest(values: np.ndarray | None) -> float | None:
    seen = values[np.isfinite(values)] if values is not None else np.zeros(0)
    return float(seen[-1]) if len(seen) else None


def _turning_point(run: Run, known: Places) -> int | None:
    """The first round after which there is more than one flock, or someone is set apart."""
    facts = run.facts
    several = np.zeros(len(run.rounds), dtype=bool)
    for name, ordinary in (("flocks", 1), ("apart", 0)):
        if name in facts:
            several |= np.nan_to_num(facts[name]) > ordinary
    first = np.flatnonzero(several)
    return int(run.rounds[first[0]]) if len(first) and first[0] > 0 else None


def _caught(run: Run, known: Places) -> dict[str, Any]:
    lying = run.client_column("attacker").astype(bool)
    if not lying.any() or not len(known.places) or len(lying) != known.places.shape[1]:
        return {"attackers": 0}
    apart = known.places[-1] <= QUARANTINED
    return {
        "attackers": int(lying.sum()),
        "caught": int((apart & lying).sum()),
        "wronged": int((apart & ~lying).sum()),
    }


def _story(run: Run, numbers: dict[str, Any]) -> str:
    strategy = str(run.config.get("strategy", {}).get("name", "a run"))
    if run.state == "failed":
        why = run.about.get("error") or "no reason is on record"
        return f"This run failed after {_some(numbers['rounds'], 'round')}: {why}"
    parts = [f"{strategy} with {_some(numbers['clients'], 'client')}, {_some(numbers['rounds'], 'round')}."]
    if run.parent is not None:
        before, at = run.parent
        parts.append(f"It goes on from {before.rstrip('/').rpartition('/')[2]}, round {at}.")
    if "feature" in run.facts and (numbers["flocks"] or 0) > 1:
        parts.append(f"One model, with reports in {int(numbers['flocks'])} groups.")
    elif numbers["turn"] is not None and (numbers["flocks"] or 0) > 1:
        parts.append(
            f"Since round {numbers['turn']} they train in flocks, {int(numbers['flocks'])} at the end."
        )
    elif numbers["turn"] is not None:
        parts.append(f"Clients were told apart in round {numbers['turn']}.")
    else:
        parts.append(
            "No flocks were told apart."
            if (numbers["flocks"] or 0) <= 1
            else "Flocks from the first round on."
        )
    title = number_of(run.scoring.name).title
    title = title[:1].upper() + title[1:]
    lower = " (lower is better)" if run.scoring.better == "lower" else ""
    if numbers["before"] is not None and numbers["score"] is not None:
        parts.append(
            f"{title} was {shown(numbers['before'])} before round {numbers['turn']} and is "
            f"{shown(numbers['score'])} now{lower}."
        )
    elif numbers["score"] is not None:
        parts.append(f"{title} is {shown(numbers['score'])}{lower}.")
    tested = _newest(run.facts.get("tested"))
    if tested is not None:
        score = run.scoring.name
        low, high = (_newest(run.facts.get(f"{score}_{end}")) for end in ("low", "high"))
        between = (
            f", {shown(low)} to {shown(high)} in 19 of 20 cases"
            if low is not None and high is not None
            else ""
        )
        parts.append(f"That is estimated from {int(tested):,} clients{between}.")
    if numbers["ari"] is not None and (numbers["flocks"] or 0) > 1:
        alike = "match the true groups exactly" if numbers["ari"] >= 0.999 else "compare with the true groups"
        parts.append(f"The flocks {alike} (ARI {numbers['ari']:.2f}).")
    if numbers["attackers"]:
        wronged = (
            f", and {_some(numbers['wronged'], 'honest client')} with them" if numbers["wronged"] else ""
        )
        parts.append(
            f"{numbers['caught']} of {_some(numbers['attackers'], 'attacker')} are set apart{wronged}."
        )
    elif numbers["apart"]:
        parts.append(f"{_some(int(numbers['apart']), 'client')} set apart.")
    note = str(run.about.get("note", ""))
    if note:
        parts.append(f"{note[0].upper()}{note[1:]}.")
    return " ".join(parts)


def _some(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"
