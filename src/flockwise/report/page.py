"""One self-contained HTML file: data, charts and style inside, nothing fetched from anywhere."""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from flockwise.errors import InputError
from flockwise.numbers import NUMBERS
from flockwise.report.comparison import describe_comparison
from flockwise.report.encoding import plain
from flockwise.report.numbers import describe_run
from flockwise.store import open_run
from flockwise.store.files import write_atomically

SCRIPTS = ("data", "format", "table", "chart", "curves", "flow", "matrix", "strip", "map", "tree", "facts", "groups",
           "clients", "lookup", "detail", "events", "apart", "config", "compare", "run", "start")  # fmt: skip


def write_report(runs: Sequence[Path], out: Path | None = None) -> Path:
    """Write the report of one run, or of several side by side; where it is."""
    if not runs:
        raise InputError("runs = []: a report needs at least one run directory")
    default = Path(runs[0]) / "report.html" if len(runs) == 1 else Path("comparison.html")
    target = Path(out) if out is not None else default
    opened = [open_run(path) for path in runs]
    shown = (
        {"run": describe_run(opened[0])} if len(opened) == 1 else {"comparison": describe_comparison(opened)}
    )
    title = f"{opened[0].title} · Flockwise" if len(opened) == 1 else "Comparison · Flockwise"
    target.parent.mkdir(parents=True, exist_ok=True)
    # The name of a directory need not be UTF-8: what of it is not is spelt out.
    write_atomically(target, build_page(shown, title).encode("utf-8", "backslashreplace"))
    return target


def build_page(shown: Mapping[str, Any], title: str = "Flockwise") -> str:
    """The page for `{"run": ...}` or `{"comparison": ...}`.

    Scripts and style are allowed by their hashes alone, so that no text from a client can become one.
    """
    library, script, style = charts_library(), page_script(), page_style()
    policy = (
        "default-src 'none'; img-src data: blob:; base-uri 'none'; form-action 'none'; "
        f"script-src {content_hash(library)} {content_hash(script)}; style-src {content_hash(style)}"
    )
    parts = {
        "policy": policy, "title": escape(title), "style": style, "data": safe_json(shown),
        "library": library, "script": script,
    }  # fmt: skip
    return fill(page_template(), parts)


def fill(template: str, parts: Mapping[str, str]) -> str:
    """Put each part where `{{name}}` stands; in one pass, so that a part cannot contain a place."""
    pieces = template.split("{{")
    filled = [pieces[0]]
    for piece in pieces[1:]:
        name, _, rest = piece.partition("}}")
        filled += [parts[name], rest]
    return "".join(filled)


def safe_json(value: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(plain(value), separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


@cache
def charts_library() -> str:
    """Apache ECharts, as shipped."""
    return _text("vendor/echarts.min.js")


@cache
def page_script() -> str:
    """The page's own script: the files in `page/` one after the other, closed off from everything else."""
    numbers = {number.name: [number.title, number.meaning, number.better] for number in NUMBERS.values()}
    known = (
        f"const NUMBERS = Object.fromEntries(Object.entries({safe_json(numbers)})"
        ".map(([name, [title, meaning, better]]) => [name, { title, meaning, better }]));\n"
    )
    scripts = "\n".join(_text(f"page/{name}.js") for name in SCRIPTS)
    return f'"use strict";\n(() => {{\n{known}{scripts}}})();\n'


@cache
def page_style() -> str:
    """The page's style."""
    return _text("page/page.css")


def page_template() -> str:
    """The page without its parts."""
    return _text("page/page.html")


def _text(name: str) -> str:
    return files("flockwise.report").joinpath(name).read_text(encoding="utf-8")


def content_hash(content: str) -> str:
    """A script or style as a page's policy names it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
