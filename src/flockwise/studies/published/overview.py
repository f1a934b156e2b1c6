"""All papers on one page, and in one screen: what goes against a paper or against us first."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from flockwise.studies.published.claims import CONTRADICTED, ONE_AGAINST, ORDER
from flockwise.studies.published.page import RULE
from flockwise.studies.published.publication import Publication
from flockwise.studies.published.tables import HEADS, KINDS
from flockwise.studies.published.tables import claims as claims_table
from flockwise.studies.published.verdicts import counted

_HOW_TO = (Path(__file__).parent / "how_to.md").read_text(encoding="utf-8")
_WHAT = (
    "Every cell of the tables and figures of five papers is an ordinary run of Flockwise. Nothing is left out because it "
    "looks bad; what has not been run says so."
)


def overview(papers: Sequence[Publication], folder: str = "papers") -> str:
    """The page with all verdicts; the papers' own lie in `folder` beside it."""
    parts = ["# The papers' tables, measured", "", _WHAT, "", RULE, "", *headlines(papers, folder), ""]
    parts += ["## What the papers say in words", "", "What goes against a paper comes first.", ""]
    for paper in papers:
        parts += [f"### {paper.title}", "", *claims_table(paper.claims), ""]
    return "\n".join([*parts, _HOW_TO])


def headlines(papers: Sequence[Publication], folder: str = "docs/papers") -> list[str]:
    """One screen: the claims that our numbers go against, then how many of what."""
    lines = ["| paper | says | ours | verdict |", "|---|---|---|---|"]
    for paper in papers:
        title = paper.title.partition(" (")[0]
        for one in paper.claims:
            if one.verdict in (CONTRADICTED, ONE_AGAINST):
                said = one.claim.short or one.claim.says
                lines.append(f"| {title} | {said} | {one.brief} | {one.verdict} |")
    lines += ["", f"| claims | {' | '.join(ORDER)} |", "|---" * (1 + len(ORDER)) + "|"]
    for paper in papers:
        claims = Counter(one.verdict for one in paper.claims)
        lines.append(
            f"| [{paper.title}]({folder}/{paper.name}.md) | {' | '.join(str(claims[kind] or '') for kind in ORDER)} |"
        )
    lines += ["", f"| numbers | {' | '.join(HEADS)} |", "|---" * (1 + len(HEADS)) + "|"]
    for paper in papers:
        counts = counted(paper.rows)
        title = paper.title.partition(" (")[0]
        lines.append(f"| {title} | {' | '.join(str(counts[kind] or '') for kind in KINDS)} |")
    return lines
