"""All papers on one page, and in one screen: what goes against a paper or against us first."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from flockwise.studies.origin import cpu_told
from flockwise.studies.published import tables
from flockwise.studies.published.claims import (
    CONTRADICTED,
    FEW_AGAINST,
    FEW_FOR,
    NOT_RUN,
    NOTHING,
    OPEN,
    PART_AGAINST,
    SUPPORTED,
    Judged,
)
from flockwise.studies.published.page import RULE
from flockwise.studies.published.publication import Publication

_HOW_TO = (Path(__file__).parent / "how_to.md").read_text(encoding="utf-8")
_HEADS = {
    CONTRADICTED: "contradicted", FEW_AGAINST: "so far against", OPEN: "undecided", FEW_FOR: "so far for",
    SUPPORTED: "supported", NOTHING: "tells nothing", NOT_RUN: "not run",
}  # fmt: skip
_WHAT = (
    "Every cell of the tables and figures of five papers is an ordinary run of Flockwise. Nothing is left out because it "
    "looks bad; what has not been run says so."
)
_KEY = (
    "A statement of a paper is counted once, with the worst verdict of its parts (data sets, fractions) and of the ways in "
    "which it was read; not of a way that the paper's own printed numbers fail, where there is another. *Contradicted* and "
    "*supported* need three seeds or more; *so far* is fewer seeds, or not all of it."
)
_CONTRADICTED = "Contradicted by at least three seeds, be it the paper or how we read what it leaves open (its page tells)"


def overview(papers: Sequence[Publication], folder: str = "papers") -> str:
    """The page with all verdicts; the papers' own lie in `folder` beside it."""
    results = [result for paper in papers for result in paper.full.results]
    cost = f"Processor time on record, all papers at full: {cpu_told(results)}."
    parts = ["# The papers' tables, measured", "", _WHAT, "", *one_screen(papers, folder), ""]
    parts += _told(
        papers, (FEW_AGAINST, PART_AGAINST), "Against so far, with fewer than three seeds or not all of it"
    )
    parts += _told(papers, (OPEN,), "Undecided, by an interval or by a single seed")
    parts += [*tables.numbers({paper.title: paper.rows for paper in papers}), "", RULE, "", cost, ""]
    parts += ["## What the papers say in words", "", "What goes against a paper comes first.", ""]
    for paper in papers:
        parts += [f"### {paper.title}", "", *tables.claims(paper.claims), ""]
    return "\n".join([*parts, _HOW_TO])


def one_screen(papers: Sequence[Publication], folder: str = "docs/papers") -> list[str]:
    """How many statements came out how, a row for each paper, then in words what enough seeds contradict."""
    found = {_link(paper, folder): Counter(statements(paper.claims).values()) for paper in papers}
    told = _told(papers, (CONTRADICTED,), _CONTRADICTED)
    key = " ".join([_KEY, *_without_commit(papers)])
    return [*tables.counts("statements", found, _HEADS), "", key, *(["", *told[:-1]] if told else [])]


def _without_commit(papers: Sequence[Publication]) -> list[str]:
    """How much of what is settled would not be without the results that do not say what code they are of."""
    settled = lost = 0
    for paper in papers:
        now, then = statements(paper.claims), statements(paper.named.claims)
        mine = [says for says, verdict in now.items() if verdict in (CONTRADICTED, SUPPORTED)]
        settled += len(mine)
        lost += sum(then[says] != now[says] for says in mine)
    told = f"Of the {settled} statements that are one of these, {lost} are so only with results whose commit is unknown."
    return [told] if lost else []


def statements(claims: Iterable[Judged]) -> dict[str, str]:
    """Each statement with one verdict: the worst of its parts and readings, and for it only where nothing is missing."""
    found: dict[str, list[Judged]] = {}
    for one in claims:
        found.setdefault(one.claim.says, []).append(one)
    fair = {says: [one for one in mine if not one.in_print] or mine for says, mine in found.items()}
    return {says: _together({one.verdict for one in mine}) for says, mine in fair.items()}


def _together(verdicts: set[str]) -> str:
    for worst in (
        CONTRADICTED,
        FEW_AGAINST,
        PART_AGAINST,
        OPEN,
    ):  # of one part, or with one reading: enough for all
        if worst in verdicts:
            return FEW_AGAINST if worst == PART_AGAINST else worst
    if verdicts in ({SUPPORTED}, {NOT_RUN}):
        return next(iter(verdicts))
    return NOTHING if verdicts <= {NOTHING, NOT_RUN} else FEW_FOR


def _told(papers: Sequence[Publication], verdicts: Sequence[str], words: str) -> list[str]:
    """The claims that have one of some verdicts, paper by paper, in the fewest words; nothing where none has."""
    lines = []
    for paper in papers:
        told = [f"  - {one.headline}" for one in paper.claims if one.verdict in verdicts]
        lines += [f"- {paper.title.partition(' (')[0]}", *told] if told else []
    return [f"{words}:", "", *lines, ""] if lines else []


def _link(paper: Publication, folder: str) -> str:
    title, _, by = paper.title.partition(" (")
    return f"[{title}]({folder}/{paper.name}.md)" + (f" ({by}" if by else "")
