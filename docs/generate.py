"""Write the pages of docs/ that are made from the code: `make docs`."""

import json
from pathlib import Path

from flockwise.cli.listing import KINDS, parameters, summaries
from flockwise.config import schema
from flockwise.papers import PAPERS, rows_of
from flockwise.papers.current import current_results
from flockwise.papers.verdicts import NOT_RUN, claim_verdicts

HERE = Path(__file__).parent
BLOCK = "<!-- what the papers say -->"


def main() -> None:
    """Write them all."""
    (HERE / "config.schema.json").write_text(json.dumps(schema(), indent=2) + "\n")
    pages = ["# Every piece by name\n", "Made by `make docs` from what `flockwise list KIND` shows.\n"]
    for kind in KINDS:
        takes = parameters(kind)
        pages.append(f"## {kind}\n\n| name | what it is |" + (" parameters |" if takes else ""))
        pages.append("|---|---|" + ("---|" if takes else ""))
        for name, summary in summaries(kind).items():
            pages.append(f"| `{name}` | {summary} |" + (f" {takes.get(name, '')} |" if takes else ""))
        pages.append("")
    (HERE / "pieces.md").write_text("\n".join(pages))
    readme = HERE.parent / "README.md"
    before, _, after = readme.read_text().split(BLOCK)
    readme.write_text(f"{before}{BLOCK}\n{_headlines()}\n{BLOCK}{after}")


def _headlines() -> str:
    """What the papers say in words and we have measured at their own scale."""
    lines = ["| paper | claim | ours |", "|---|---|---|"]
    for paper in PAPERS.values():
        rows = rows_of(
            paper.cells("full"), current_results(paper, HERE.parent / "papers" / "results"), "full"
        )
        title = paper.title.partition(" (")[0]
        lines += [f"| {title} | {text} | {v} |" for text, v in claim_verdicts(paper, rows) if v != NOT_RUN]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
