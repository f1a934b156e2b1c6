"""Put the table of harm to the innocent where docs/attacks-and-judges.md has its marks. Runs nothing.

python benchmarks/harm/page.py
"""

from pathlib import Path

from flockwise.studies.handle import Study
from flockwise.studies.writers.markdown import markdown_table

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "attacks-and-judges.md"
BEGIN, END = "<!-- harm: begin -->", "<!-- harm: end -->"


def main() -> None:
    """Write the page."""
    (table,) = Study(HERE / "study.toml", out=HERE).tables()
    text = markdown_table(table) if table.results else "Not measured yet.\n"
    page = PAGE.read_text(encoding="utf-8")
    start, stop = page.index(BEGIN) + len(BEGIN), page.index(END)
    PAGE.write_text(f"{page[:start]}\n\n{text}\n{page[stop:]}", encoding="utf-8")


if __name__ == "__main__":
    main()
