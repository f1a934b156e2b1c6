"""The claims of a publication as comparisons that a machine evaluates: `claims.toml` beside a study's file."""

from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from flockwise.config.sections import Section
from flockwise.studies.published.bars import read_items
from flockwise.studies.published.comparisons import (
    FAILS,
    HOLDS,
    PARTLY,
    UNSURE,
    Comparison,
    Instance,
    instances_of,
    together,
)
from flockwise.studies.published.measured import Measured

CONTRADICTED, ONE_AGAINST, OPEN, IN_PART, ONE_FOR, SUPPORTED, NOTHING, NOT_RUN = (
    "contradicted", "open: one seed against", "open", "open: run in part, so far for", "open: one seed for", "supported",
    "tells nothing", "not run",
)  # fmt: skip
ORDER = (
    CONTRADICTED,
    ONE_AGAINST,
    OPEN,
    IN_PART,
    ONE_FOR,
    SUPPORTED,
    NOTHING,
    NOT_RUN,
)  # what goes against first


class Claim(Section):
    """What a paper says, where, and what it comes to."""

    says: str = Field(description="in the paper's words")
    place: str
    means: str = Field("", description="how the words were made a comparison, where that is not plain")
    tests: list[Comparison] = Field(min_length=1)
    short: str = Field("", description="the same in a few words, for one screen")
    vacuous: str = Field("", description="why it tells nothing although it can be evaluated")
    note: str = ""


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict and the comparisons behind it."""

    claim: Claim
    verdict: str
    instances: tuple[Instance, ...]

    @property
    def told(self) -> str:
        """How many comparisons hold of those that could be made, and the first that does not."""
        known = [one for one in self.instances if one.state is not None]
        if not known:
            return "nothing of it has been run"
        good = sum(one.state == HOLDS for one in known)
        words = f"{good} of {len(known)} comparisons hold"
        if len(known) < len(self.instances):
            words += f", {len(self.instances) - len(known)} not run"
        wrong = next((one for one in known if one.state != HOLDS), None)
        return f"{words}; not {wrong.words} ({_shown(wrong.left)}, {_shown(wrong.right)})" if wrong else words

    @property
    def brief(self) -> str:
        """The same in a few words: the numbers of the first comparison that does not hold."""
        known = [one for one in self.instances if one.state is not None]
        wrong = next((one for one in known if one.state != HOLDS), None)
        if wrong is None:
            return self.told
        numbers = f"{_shown(wrong.left)}, not {wrong.relation} {_shown(wrong.right)}"
        good = sum(one.state == HOLDS for one in known)
        return f"holds in {good} of {len(known)}: {wrong.cell}: {numbers}" if len(known) > 1 else numbers


def read_claims(folder: Path) -> list[Claim]:
    """The claims of a study's folder; none where it has no claims.toml."""
    return read_items(Claim, folder / "claims.toml", "claims")


def judge(claim: Claim, measured: Measured) -> Judged:
    """Evaluate a claim on what was measured."""
    states, instances = [], []
    for test in claim.tests:
        mine = instances_of(test, measured)
        instances += mine
        states.append(together([one.state for one in mine], test.how))
    seeds = min((one.seeds for one in instances if one.state is not None), default=0)
    return Judged(claim, _verdict(claim, states, seeds), tuple(instances))


def _verdict(claim: Claim, states: list[str | None], seeds: int) -> str:
    if FAILS in states:
        return CONTRADICTED if seeds > 1 else ONE_AGAINST
    if set(states) == {None}:
        return NOT_RUN
    if claim.vacuous:
        return NOTHING
    if UNSURE in states:
        return OPEN
    if None in states or PARTLY in states:
        return IN_PART
    return SUPPORTED if seeds > 1 else ONE_FOR


def _shown(value: float) -> str:
    return f"{value:.4g}"
