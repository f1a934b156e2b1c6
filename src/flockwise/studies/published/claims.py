"""The claims of a publication as comparisons that a machine evaluates: `claims.toml` beside a study's file."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from flockwise.config.sections import Section
from flockwise.errors import ConfigError
from flockwise.studies.published.bars import read_items
from flockwise.studies.published.comparisons import (
    FAILS,
    HOLDS,
    PARTLY,
    PARTLY_NOT,
    UNSURE,
    Comparison,
    Instance,
    instances_of,
    together,
)
from flockwise.studies.published.measured import Numbers
from flockwise.studies.statistics import ENOUGH

CONTRADICTED, FEW_AGAINST, PART_AGAINST, OPEN, IN_PART, FEW_FOR, SUPPORTED, NOTHING, NOT_RUN = (
    "contradicted", "open: few seeds, against", "open: run in part, so far against", "open", "open: run in part, so far for",
    "open: few seeds, for", "supported", "tells nothing", "not run",
)  # fmt: skip
ORDER = (
    CONTRADICTED,
    FEW_AGAINST,
    PART_AGAINST,
    OPEN,
    IN_PART,
    FEW_FOR,
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
    added: str = Field(
        "", description="when, if earlier results were on record then; its words were read without them"
    )
    split: str = Field("", description="a name of `over`: each of its values is a claim by itself")
    part: str = Field("", description="which of those this one is; filled in")


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict and the comparisons behind it."""

    claim: Claim
    verdict: str
    instances: tuple[Instance, ...]
    in_print: str = ""  # that the paper's own printed numbers do not pass what its words were read as, if so

    @property
    def told(self) -> str:
        """How many comparisons hold of those that could be made, and of those that do not one with the most seeds."""
        known = [one for one in self.instances if one.state is not None]
        if not known:
            return "nothing of it has been run"
        good = sum(one.state == HOLDS for one in known)
        words = f"{good} of {len(known)} comparisons hold"
        if len(known) < len(self.instances):
            words += f", {len(self.instances) - len(known)} not run"
        for state, word in ((FAILS, "not"), (UNSURE, "undecided is")):
            found = [one for one in known if one.state == state]
            if found:
                one = max(found, key=lambda one: one.seeds)  # what settles it, where something does
                return f"{words}; {word} {one.words} ({_shown(one.left)}, {_shown(one.right)}; seeds: {one.seeds})"
        return words

    @property
    def headline(self) -> str:
        """In the fewest words: how many comparisons fail, or the two numbers of the only one."""
        known = [one for one in self.instances if one.state is not None]
        said = (self.claim.short or self.claim.says) + (f", {self.claim.part}" if self.claim.part else "")
        if len(known) == 1:
            (one,) = known
            word = "not" if one.state == FAILS else "perhaps"
            told = [f"{_shown(one.left)}, {word} {one.relation} {_shown(one.right)}"]
        else:
            counts = Counter(one.state for one in known)
            kinds = ((FAILS, "fail"), (UNSURE, "are undecided"), (HOLDS, "hold"))
            told = [f"{counts[state]} of {len(known)} {word}" for state, word in kinds if counts[state]][:2]
        return f"{said} ({', '.join(told)}{'; ' if told and self.in_print else ''}{self.in_print})"


def read_claims(folder: Path) -> list[Claim]:
    """The claims of a study's folder, part by part; none where it has no claims.toml."""
    path = folder / "claims.toml"
    found = read_items(Claim, path, "claims")
    try:
        return [part for claim in found for part in parts_of(claim)]
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def parts_of(claim: Claim) -> Iterator[Claim]:
    """The claim by itself, or the parts that can be settled one without the other: together they say what it says.

    So a data set that is too dear to run does not keep all others from ever being settled.
    """
    name = claim.split
    if not name:
        yield claim
        return
    for test in claim.tests:
        if name not in test.over or test.how != "all":
            why = f"must be a name that `over` of every test has, and every test one of all: {claim.says[:40]!r}"
            raise ConfigError(f"claims, split = {name!r}: {why}")
    for value in dict.fromkeys(value for test in claim.tests for value in test.over[name]):
        tests = [
            test.model_copy(update={"over": {**test.over, name: [value]}})
            for test in claim.tests
            if value in test.over[name]
        ]
        yield claim.model_copy(update={"tests": tests, "part": f"{name} {value}"})


def judge(claim: Claim, measured: Numbers, printed: Numbers | None = None) -> Judged:
    """Evaluate a claim on what was measured; what the paper prints is told beside it and decides nothing."""
    states, settled, instances = [], [], []
    for test in claim.tests:
        mine = instances_of(test, measured)
        instances += mine
        states.append(together([one.state for one in mine], test.how))
        settled.append(together([one.state if one.seeds >= ENOUGH else None for one in mine], test.how))
    return Judged(claim, _verdict(claim, states, settled), tuple(instances), _in_print(claim, printed))


def _in_print(claim: Claim, printed: Numbers | None) -> str:
    own = [(instances_of(test, printed), test.how) for test in claim.tests] if printed else []
    if FAILS not in [together([one.state for one in mine], how) for mine, how in own]:
        return ""
    known = [one.state for mine, _ in own for one in mine if one.state is not None]
    return f"of the paper's own printed numbers {known.count(FAILS)} of {len(known)} fail"


def _verdict(claim: Claim, states: list[str | None], settled: list[str | None]) -> str:
    """`settled` are the states of what has enough seeds alone."""
    if FAILS in states:
        return CONTRADICTED if FAILS in settled else FEW_AGAINST
    if PARTLY_NOT in states:
        return PART_AGAINST
    if set(states) == {None}:
        return NOT_RUN
    if claim.vacuous:
        return NOTHING
    if UNSURE in states:
        return OPEN
    if None in states or PARTLY in states:
        return IN_PART
    return SUPPORTED if set(settled) == {HOLDS} else FEW_FOR


def _shown(value: float) -> str:
    return f"{value:.4g}"
