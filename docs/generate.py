"""Write the pages of docs/ that are made from the code: `make docs`."""

import json
from pathlib import Path

from flockwise.cli.listing import KINDS, summaries
from flockwise.config import schema

HERE = Path(__file__).parent


def main() -> None:
    """Write them all."""
    (HERE / "config.schema.json").write_text(json.dumps(schema(), indent=2) + "\n")
    pages = ["# Every piece by name\n", "Made by `make docs` from what `flockwise list KIND` shows.\n"]
    for kind in KINDS:
        pages.append(f"## {kind}\n\n| name | what it is |\n|---|---|")
        pages += [f"| `{name}` | {summary} |" for name, summary in summaries(kind).items()]
        pages.append("")
    (HERE / "pieces.md").write_text("\n".join(pages))


if __name__ == "__main__":
    main()
