"""The numbers of the code beside those of the projects it learns from: sizes, types, tests, import cycles.

    python benchmarks/architecture/table.py [--write docs/architecture.md]

Our counts are rounded (files to ten, lines to a thousand, lines of a file to ten, shares to five percent): `make docs`
writes the table, and a page that every commit changes would be looked at by nobody.

Lines are lines of the file, blank ones and comments included; empty files are not counted. A function's length runs
from `def` to its last line. Typed is the annotated share of arguments (without self and cls) and returns. A part is a
first-level module or folder of the package; it counts if it sits in a cycle of imports that run when it is imported,
leaving out those of `__init__.py` files and under TYPE_CHECKING.
"""

import argparse
import ast
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median, quantiles

ROOT = Path(__file__).parents[2]
MARK = "<!-- numbers of the code -->"
HEAD = """\
| code | files / lines | lines of a file: median / p90 / max | of a function: median / p90 | typed | tests / code | \
parts in an import cycle |
|---|---|---|---|---|---|---|
"""
# Measured once, on the snapshots named here; not measured again by this script.
ANCHORS = """\
| google/fedjax (2025-07) | 53 / 10.5k | 140 / 469 / 1026 | 9 / 38 | 66 % | 0.58 | 0 of 6 |
| apple/pfl-research (2026-04) | 112 / 19.0k | 99 / 424 / 1030 | 8 / 27 | 66 % | 0.71 | 9 of 15 |
| patrick-kidger/diffrax (2026-02) | 63 / 16.5k | 140 / 685 / 1543 | 8 / 44 | 56 % | 0.46 | 0 of 19 |
| patrick-kidger/equinox (2026-06) | 72 / 16.0k | 134 / 509 / 1278 | 7 / 40 | 41 % | 0.55 | 0 of 25 |
| google-deepmind/optax (2026-08) | 76 / 24.3k | 190 / 734 / 2794 | 19 / 87 | 67 % | 0.61 | 4 of 12 |
| optuna/optuna (2026-08) | 210 / 38.6k | 120 / 428 / 1712 | 11 / 42 | 99 % | 0.67 | 7 of 28 |
| encode/httpx (2025-12) | 23 / 8.8k | 248 / 641 / 2019 | 9 / 34 | 100 % | 1.01 | 0 of 17 |
| flwr (2026-03) | 363 / 57.8k | 105 / 381 / 1330 | 13 / 46 | 99 % | 0.49 | 4 of 12 |
| LPD-EPFL/byzfl (2025-06) | 20 / 7.4k | 210 / 1130 / 1483 | 5 / 27 | 0 % | 0.13 | 0 of 5 |
| lishenghui/blades (2025-02) | 20 / 1.4k | 50 / 140 / 422 | 7.5 / 27 | 61 % | 0.25 | 0 of 3 |
| NVFlare (2026-08) | 1169 / 214k | 96 / 424 / 3211 | 10 / 38 | 61 % | 0.89 | 13 of 21 |
| TsingZ0/PFLlib (2025-11) | 95 / 12.3k | 103 / 202 / 526 | 14 / 45 | 9 % | no tests | - |
| KarhouTam/FL-bench (2025-10) | 91 / 10.3k | 78 / 208 / 1034 | 10 / 38 | 37 % | no tests | - |
"""
Function = ast.FunctionDef | ast.AsyncFunctionDef


def main() -> None:
    """Print the table, or put it between the marks of a page."""
    parser = argparse.ArgumentParser(description="The numbers of the code beside those of other projects.")
    parser.add_argument("--write", type=Path, metavar="FILE", help=f"replace what stands between two {MARK}")
    target = parser.parse_args().write
    made = table(ROOT / "src" / "flockwise", ROOT / "tests")
    if target is None:
        print(made, end="")
        return
    parts = target.read_text(encoding="utf-8").split(MARK)
    if len(parts) != 3:
        raise SystemExit(f"{target}: needs exactly two lines {MARK}, has {len(parts) - 1}")
    target.write_text(f"{parts[0]}{MARK}\n{made}{MARK}{parts[2]}", encoding="utf-8")


def table(package: Path, tests: Path) -> str:
    """Our rows, then the anchors'."""
    code, checks = _read(package), _read(tests)
    ratio = sum(map(_lines, checks.values())) / sum(map(_lines, code.values()))
    bound, parts = cycles(package, code)
    ours = f"| **Flockwise** | {_sizes(code)} | {round(20 * ratio) / 20:.2f} | {bound} of {parts} |\n"
    return f"{HEAD}{ours}| Flockwise's tests | {_sizes(checks)} | - | - |\n{ANCHORS}"


def _read(folder: Path) -> dict[Path, str]:
    texts = {file: file.read_text(encoding="utf-8") for file in sorted(folder.rglob("*.py"))}
    return {file: text for file, text in texts.items() if text.strip()}


def _lines(text: str) -> int:
    return len(text.splitlines())


def _sizes(code: dict[Path, str]) -> str:
    lines = [_lines(text) for text in code.values()]
    functions = [found for text in code.values() for found in _functions(ast.parse(text))]
    lengths = [(node.end_lineno or node.lineno) - node.lineno + 1 for node, _ in functions]
    places = [place for node, method in functions for place in _annotations(node, method)]
    return (
        f"{_tens(len(lines))} / {sum(lines) / 1000:.0f}k "
        f"| {_tens(median(lines))} / {_tens(_p90(lines))} / {_tens(max(lines))} "
        f"| {median(lengths):g} / {_p90(lengths)} | {_fives(100 * sum(places) / len(places))} %"
    )


def _tens(value: float) -> int:
    return round(value / 10) * 10


def _fives(percent: float) -> int:
    """Down to five: 100 is said of all of them only."""
    return int(percent // 5) * 5


def _p90(values: list[int]) -> int:
    return round(quantiles(values, n=10, method="inclusive")[-1])


def _functions(tree: ast.AST) -> Iterator[tuple[Function, bool]]:
    """Every function with whether it is a method that is given its object or class."""
    for parent in ast.walk(tree):
        for node in ast.iter_child_nodes(parent):
            if isinstance(node, Function):
                static = any(ast.unparse(one) == "staticmethod" for one in node.decorator_list)
                yield node, isinstance(parent, ast.ClassDef) and not static


def _annotations(node: Function, method: bool) -> list[bool]:
    given = [*node.args.posonlyargs, *node.args.args][method:]
    rest = [one for one in (node.args.vararg, node.args.kwarg) if one]
    arguments = [one.annotation is not None for one in (*given, *node.args.kwonlyargs, *rest)]
    return [*arguments, node.returns is not None]


def cycles(package: Path, code: dict[Path, str]) -> tuple[int, int]:
    """How many parts sit in an import cycle, of how many."""
    parts = {file.relative_to(package).parts[0].removesuffix(".py") for file in code} - {"__init__"}
    edges: dict[str, set[str]] = {part: set() for part in parts}
    for file, text in code.items():
        if file.name != "__init__.py":
            part = file.relative_to(package).parts[0].removesuffix(".py")
            names = {name for name in _imported(ast.parse(text).body) if name.startswith(f"{package.name}.")}
            edges[part] |= {name.split(".")[1] for name in names} & parts - {part}
    return sum(part in _reached(part, edges) for part in parts), len(parts)


def _imported(body: Sequence[ast.AST]) -> Iterator[str]:
    """What is imported when the statements run; not what their functions import later."""
    for node in body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif not isinstance(node, Function) and not (
            isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        ):
            yield from _imported(
                [
                    child
                    for child in ast.iter_child_nodes(node)
                    if isinstance(child, (ast.stmt, ast.excepthandler))
                ]
            )


def _reached(start: str, edges: dict[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    front = [start]
    while front:
        new = edges[front.pop()] - seen
        seen |= new
        front += new
    return seen


if __name__ == "__main__":
    main()
