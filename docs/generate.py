"""Write what of docs/ is made from the code: `make docs`. `--check` only says what is out of date."""

import ast
import json
import sys
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import api_reference

from flockwise.aggregation import PRE_AGGREGATIONS, RULES
from flockwise.attacks import ATTACKS
from flockwise.cli.pieces import KINDS, parameters, summaries
from flockwise.clustering import CLUSTERERS
from flockwise.config import schema
from flockwise.config.template import described
from flockwise.models import MODELS
from flockwise.numbers import NUMBERS
from flockwise.papers import NAMES, publication
from flockwise.registry import Registry
from flockwise.schedules import SCHEDULES
from flockwise.similarity import SIMILARITIES
from flockwise.splits import SPLITS
from flockwise.strategies import STRATEGIES
from flockwise.studies.published.overview import one_screen, overview
from flockwise.studies.published.page import write_page
from flockwise.studies.published.publication import Publication
from flockwise.tasks import TASKS

HERE = Path(__file__).parent
ROOT = HERE.parent
SOURCE = ROOT / "src" / "flockwise"
FOLDERS: dict[str, list[Registry[Any]]] = {  # of pieces; a file in them is all it takes to add one
    "aggregation": [RULES, PRE_AGGREGATIONS], "attacks": [ATTACKS], "clustering": [CLUSTERERS], "models": [MODELS],
    "schedules": [SCHEDULES], "similarity": [SIMILARITIES], "splits": [SPLITS], "strategies": [STRATEGIES], "tasks": [TASKS],
}  # fmt: skip
BLOCK = "<!-- what the papers say -->"


def pages() -> dict[Path, str]:
    """Every generated page with what it should hold."""
    readme = ROOT / "README.md"
    papers = [publication(name, ROOT / "papers") for name in NAMES]
    before, _, after = readme.read_text().split(BLOCK)
    return {
        HERE / "config.schema.json": json.dumps(schema(), indent=2) + "\n",
        HERE / "pieces.md": _pieces(),
        HERE / "api.md": api_reference.page(),
        HERE / "extending.md": _extending(),
        HERE / "architecture.md": _architecture(),
        HERE / "studies.md": _studies(),
        HERE / "vocabulary.md": _vocabulary(),
        **{SOURCE / package / "__init__.pyi": _names(package) for package in FOLDERS},
        **_papers(papers),
        readme: "\n".join([before + BLOCK, *one_screen(papers), BLOCK + after]),
    }


def _pieces() -> str:
    lines = ["# Every piece by name\n", "Made by `make docs` from what `flockwise list KIND` shows.\n"]
    for kind in KINDS:
        takes = parameters(kind)
        lines.append(f"## {kind}\n\n| name | what it is |" + (" options |" if takes else ""))
        lines.append("|---|---|" + ("---|" if takes else ""))
        for name, summary in summaries(kind).items():
            lines.append(f"| `{name}` | {summary} |" + (f" {takes.get(name, '')} |" if takes else ""))
        lines.append("")
    lines.append("# Every option of every strategy\n")
    for name, strategy in STRATEGIES.items():
        paper = f" ({strategy.paper})" if strategy.paper else ""
        lines.append(f"## {name}\n\n{strategy.summary}{paper}.\n")
        if (HERE / "methods" / f"{name}.md").is_file():
            lines.append(f"[More of it](methods/{name}.md).\n")
        else:  # what its file says has to do
            told = (sys.modules[strategy.function.__module__].__doc__ or "").strip()
            lines.append(f"```text\n{told}\n```\n")
        rows = described(strategy.options)
        if rows:
            lines += ["| option | default | what it is for |", "|---|---|---|"]
            lines += [
                f"| `{option}` | {_cell(default)} | {_cell(meaning)} |" for option, default, meaning in rows
            ]
        else:
            lines.append("It has no options of its own.")
        lines.append("")
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _extending() -> str:
    """The page with the examples as their files have them."""
    text = (HERE / "extending.md").read_text()
    for file in sorted((ROOT / "examples" / "extending").glob("*.py")):
        start = f"<!-- {file.name} -->"
        before, found, rest = text.partition(start)
        if not found:
            raise SystemExit(f"docs/extending.md: has no place for {file.name}")
        after = rest.partition("<!-- end -->")[2]
        text = f"{before}{start}\n```python\n# {file.name}\n{file.read_text()}```\n<!-- end -->{after}"
    return text


def _architecture() -> str:
    """The page with the layers that the import test holds the code to, what each part says it is, and the numbers."""
    sys.path.insert(0, str(ROOT))
    from tests.test_imports import LAYERS

    lines = ["| layer | part | what it is |", "|---|---|---|"]
    for number, layer in enumerate(LAYERS[:-1], start=1):
        for part in sorted(layer):
            told = (
                (import_module(f"flockwise.{part}").__doc__ or "").strip().split("\n\n")[0].replace("\n", " ")
            )
            lines.append(f"| {number} | `{part}` | {_cell(told.rstrip('.:'))} |")
    before, _, after = (HERE / "architecture.md").read_text().split("<!-- layers -->")
    text = "<!-- layers -->".join([before, "\n" + "\n".join(lines) + "\n", after])
    sys.path.insert(0, str(ROOT / "benchmarks" / "architecture"))
    from table import MARK, table

    before, _, after = text.split(MARK)
    return MARK.join([before, "\n" + table(ROOT / "src" / "flockwise", ROOT / "tests"), after])


def _vocabulary() -> str:
    """The page with the numbers of a run as the catalogue defines them."""
    lines = ["| number | what it is | better |", "|---|---|---|"]
    for number in NUMBERS.values():
        better = "" if number.better == "neither" else number.better
        lines.append(f"| {number.title} (`{number.name}`) | {_cell(number.meaning)} | {better} |")
    before, _, after = (HERE / "vocabulary.md").read_text().split("<!-- numbers -->")
    return "<!-- numbers -->".join([before, "\n" + "\n".join(lines) + "\n", after])


def _names(package: str) -> str:
    """All names of a folder of pieces, for type checkers: at runtime the pieces are found, not listed."""
    tree = ast.parse((SOURCE / package / "__init__.py").read_text())
    names = {
        alias.name: str(node.module)
        for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }  # fmt: skip
    for registry in FOLDERS[package]:
        names |= {piece.function.__name__: piece.function.__module__ for piece in registry.values()}
    ordered = sorted(names, key=lambda name: (names[name], not name.isupper(), name[0].islower(), name))
    return "".join(f"from {names[name]} import {name} as {name}\n" for name in ordered)


def _studies() -> str:
    """The page with every field of a study's file."""
    from flockwise.studies import file

    places = {
        "the file": file.StudyFile, "`[show]`": file.Show, "`[numbers.NAME]`": file.NumberSpec, "`[[adjust]]`": file.Adjust,
        "`[tune]`": file.Tune, "a range in `tune.search`": file.Range, "`[fork]`": file.Fork,
    }  # fmt: skip
    lines = ["| where | field | default | what it is for |", "|---|---|---|---|"]
    for place, kind in places.items():
        for name, default, meaning in described(kind):
            empty = default in ('"none"', '""', "{}", "[]") or name == "show"
            shown = "needed" if not default else "" if empty else f"`{default}`"
            lines.append(f"| {place} | `{name}` | {shown} | {_cell(meaning)} |")
    before, _, after = (HERE / "studies.md").read_text().split("<!-- fields -->")
    return "<!-- fields -->".join([before, "\n" + "\n".join(lines) + "\n", after])


def _papers(papers: list[Publication]) -> dict[Path, str]:
    """The papers' pages and figures, as `flockwise paper NAME --page-only --pages docs/papers` writes them."""
    with TemporaryDirectory() as made:
        for paper in papers:
            write_page(paper, Path(made) / "papers")
        files = [path for path in sorted(Path(made).rglob("*")) if path.is_file()]
        found = {HERE / path.relative_to(made): path.read_text() for path in files}
    return {HERE / "papers.md": overview(papers), **found}


def main(check: bool) -> int:
    """Write them all, or name those that are not what they should be."""
    made = pages()
    stale = [page for page, text in made.items() if not page.exists() or page.read_text() != text]
    for page in stale:
        if check:
            sys.stderr.write(f"{page.relative_to(ROOT)}: out of date, run `make docs`\n")
        else:
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(made[page])
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
