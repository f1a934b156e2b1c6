"""All papers on one page, and in one screen: what goes against a paper or against us first."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from flockwise.studies.origin import cpu_told
from flockwise.studies.published.claims import CONTRADICTED, FEW_AGAINST, OPEN, ORDER
from flockwise.studies.published.page import RULE
from flockwise.studies.published.publication import Publication
from flockwise.studies.published.tables import KINDS
from flockwise.studies.published.tables import claims as claims_table
from flockwise.studies.published.verdicts import counted

_HOW_TO = (Path(__file__).parent / "how_to.md").read_text(encoding="utf-8")
_AGAINST = {
    CONTRADICTED: "**contradicted**",
    FEW_AGAINST: "**few seeds, against**",
    OPEN: "**seeds disagree**",
}
_WHAT = (
    "Every cell of the tables and figures of five papers is an ordinary run of Flockwise. Nothing is left out because it "
    "looks bad; what has not been run says so."
)


def overview(papers: Sequence[Publication], folder: str = "papers") -> str:
    """The page with all verdicts; the papers' own lie in `folder` beside it."""
    results = [result for paper in papers for result in paper.full.results]
    cost = f"Processor time on record, all papers at full: {cpu_told(results)}."
    parts = [
        "# The papers' tables, measured",
        "",
        _WHAT,
        "",
        RULE,
        "",
        *headlines(papers, folder),
        "",
        cost,
        "",
    ]
    parts += ["## What the papers say in words", "", "What goes against a paper comes first.", ""]
    for paper in papers:
        parts += [f"### {paper.title}", "", *claims_table(paper.claims), ""]
    return "\n".join([*parts, _HOW_TO])


def headlines(papers: Sequence[Publication], folder: str) -> list[str]:
    """A row for each paper: what our numbers go against, then how many of what."""
    lines = ["| paper | contradicted, so far against, or open | claims | numbers |", "|---|---|---|---|"]
    for paper in papers:
        claims = _counts(Counter(one.verdict for one in paper.claims), ORDER)
        numbers = _counts(counted(paper.rows), KINDS) or "none printed"
        lines.append(f"| {_link(paper, folder)} | {_against(paper)} | {claims} | {numbers} |")
    return lines


def one_screen(papers: Sequence[Publication], folder: str = "docs/papers") -> list[str]:
    """How many claims came out how, a row for each paper, then in words those that enough seeds contradict."""
    shown = [kind for kind in ORDER if any(one.verdict == kind for paper in papers for one in paper.claims)]
    lines = [f"| claims | {' | '.join(_plain(kind) for kind in shown)} |", "|---|" + "---:|" * len(shown)]
    for paper in papers:
        counts = Counter(one.verdict for one in paper.claims)
        lines.append(f"| {_link(paper, folder)} | {' | '.join(str(counts[kind] or '') for kind in shown)} |")
    settled = {
        paper.title.partition(" (")[0]: [one.headline for one in paper.claims if one.verdict == CONTRADICTED]
        for paper in papers
    }
    told = [f"- {name}: {'; '.join(claims)}." for name, claims in settled.items() if claims]
    return [*lines, "", "Contradicted by at least three seeds:", "", *told] if told else lines


def _link(paper: Publication, folder: str) -> str:
    title, _, by = paper.title.partition(" (")
    return f"[{title}]({folder}/{paper.name}.md)" + (f" ({by}" if by else "")


def _against(paper: Publication) -> str:
    """The claims that fail or that seeds disagree on, the settled ones first, in the fewest words."""
    parts = []
    for verdict, words in _AGAINST.items():
        told = [one.headline for one in paper.claims if one.verdict == verdict]
        parts += [f"{words}: {'; '.join(told)}"] if told else []
    return ". ".join(parts) or "none"


def _counts(counts: Counter[str], kinds: Sequence[str]) -> str:
    """Such as `few seeds against 2; open 1`."""
    return "; ".join(f"{_plain(kind)} {counts[kind]}" for kind in kinds if counts[kind])


def _plain(kind: str) -> str:
    return (
        kind.removeprefix("open: few")
        .replace(" seeds, ", "few seeds ")
        .replace("open: ", "open, ")
        .replace(", so far", "")
    )
