"""Where results come from: commits, versions, machines and dates, each said once with how many results it has."""

from collections import Counter
from collections.abc import Sequence

from flockwise.studies.results import Result

Fact = tuple[str, str]


def origin_of(results: Sequence[Result]) -> list[Fact]:
    """What is known of the making of some results."""
    if not results:
        return [("results", "none yet")]
    dates = sorted(result.date for result in results if result.date)
    facts = [("results", str(len(results)))]
    facts += (
        [("measured", dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}")] if dates else []
    )
    facts.append(("code", _counted([_commit(result) for result in results])))
    facts.append(("versions", _counted([_listed(result.versions) for result in results])))
    facts.append(("machine", _counted([_listed(result.machine) for result in results])))
    facts.append(("training", f"{sum(result.seconds for result in results):.0f} s, all cells together"))
    facts.append(("processor time", cpu_told(results)))
    return facts


def cpu_told(results: Sequence[Result]) -> str:
    """The CPU hours of some results, as far as they are on record; of the others, how long their rounds took."""
    known = [result.cpu_seconds for result in results if result.cpu_seconds is not None]
    others = [result for result in results if result.cpu_seconds is None]
    parts = [f"{sum(known) / 3600:.2f} CPU hours of {len(known)} results"] if known else []
    if others:
        wall = sum(result.seconds for result in others if not result.twin)
        parts.append(f"unknown of {len(others)}, whose rounds took {wall / 3600:.1f} hours by the clock")
    return "; ".join(parts) or "none"


def _commit(result: Result) -> str:
    state = {True: "", False: " with changes that are not committed", None: ""}[result.clean]
    return f"commit {result.commit}{state}" if " " not in result.commit else result.commit + state


def _listed(content: dict[str, object] | dict[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in content.items()) or "unknown"


def _counted(said: list[str]) -> str:
    counts = Counter(said)
    if len(counts) == 1:
        return said[0]
    return "; ".join(f"{one} ({count} of {len(said)})" for one, count in counts.most_common())
