"""What the skeleton promises: short strategies, a server that knows no paper, tools that see the API, current pages."""

import ast
import io
import pydoc
import re
import runpy
import subprocess
import sys
import tokenize
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import flockwise
from flockwise import (
    aggregation,
    attacks,
    clustering,
    models,
    schedules,
    similarity,
    splits,
    strategies,
    tasks,
)
from flockwise.strategies import STRATEGIES

ROOT = Path(__file__).parents[1]
SOURCE = Path(flockwise.__file__).parent
EXAMPLES = sorted((ROOT / "examples" / "extending").glob("*.py"))


def code_lines(path: Path) -> int:
    """Lines that hold code: no blank lines, comments or docstrings."""
    text = path.read_text()
    words = set()
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef)
            and ast.get_docstring(node) is not None
        ):
            words |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    quiet = {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    }
    lines = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in quiet:
            lines |= set(range(token.start[0], token.end[0] + 1))
    return len(lines - words)


@pytest.mark.parametrize("path", sorted((SOURCE / "strategies").glob("*.py")), ids=lambda path: path.stem)
def test_a_strategy_is_at_most_sixty_lines_of_code(path: Path) -> None:
    assert code_lines(path) <= 60


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_of_an_own_piece_is_one_file_of_at_most_forty_lines(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 40


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_of_an_own_piece_runs(path: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(path)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"finished, (\d+) of \1 rounds", done.stdout)


def test_the_server_knows_no_paper() -> None:
    words = {
        "start",
        "scope",
        "skip_census",
        "keep_largest",
        "place",
        "alpha_cross",
        "groups",
        "census",
        "mini_fl",
    }
    for file in (SOURCE / "server").glob("*.py"):
        tree = ast.parse(file.read_text())
        names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
        names |= {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
        names |= {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg | ast.keyword) and n.arg}
        texts = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
        assert not names & words, file
        assert not any("groups/" in text for text in texts), file


def test_every_public_name_is_there_for_tools_and_for_type_checkers() -> None:
    tree = ast.parse((SOURCE / "__init__.py").read_text())
    (block,) = [n for n in tree.body if isinstance(n, ast.If)]
    typed = {
        alias.name for node in ast.walk(block) if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert typed == set(flockwise.__all__) <= set(dir(flockwise))
    for name in flockwise.__all__:
        assert getattr(flockwise, name) is not None


def test_help_lists_methods_and_rules_with_their_options() -> None:
    text = pydoc.plain(pydoc.render_doc(flockwise))
    for name in ("flic", "fedavg", "median", "krum", "run", "resume"):
        assert re.search(rf"^    {name}\(", text, flags=re.MULTILINE), name
    assert "warmup" in pydoc.plain(pydoc.render_doc(flockwise.flic))


def test_a_method_reads_as_it_was_written() -> None:
    method = flockwise.fl_hc(rule=flockwise.krum(attackers=2), rounds_before=3)
    assert "rounds_before=3" in repr(method) and "rule=krum(attackers=2)" in repr(method)
    assert repr(STRATEGIES["flic"]) == "<flic: Louvain on the newest updates, once>"


def test_the_ten_lines_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = runpy.run_path(str(ROOT / "examples" / "ten_lines.py"))["run"]
    assert ran.state == "finished"
    assert len(ran.flocks) > 1
    assert "<svg" in ran._repr_html_()


def test_the_generated_pages_are_current() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "generate.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_run_of_objects_is_the_run_of_its_config(tmp_path: Path) -> None:
    fw = flockwise
    clients = fw.splits.label_swap(fw.data.digits(), clients=6, groups=2, seed=5)
    attack = fw.attacks.reverse(clients=[1], scale=2.0)
    made = fw.run(
        fw.flic(warmup=2, rule=fw.trimmed_mean(trim=0.2)), clients, model=fw.models.softmax, attack=attack, rounds=3,
        training=fw.SGD(epochs=2), fraction=0.7, faults={"dropout": 0.2}, out=tmp_path / "objects",
    )  # fmt: skip
    again = fw.run(made.config, out=tmp_path / "config")
    assert made.config == again.config
    assert made.checkpoint()["models"].tobytes() == again.checkpoint()["models"].tobytes()


@pytest.mark.parametrize(
    ("folder", "registries"),
    [
        (aggregation, [aggregation.RULES, aggregation.PRE_AGGREGATIONS]), (attacks, [attacks.ATTACKS]),
        (clustering, [clustering.CLUSTERERS]), (models, [models.MODELS]), (schedules, [schedules.SCHEDULES]),
        (similarity, [similarity.SIMILARITIES]), (splits, [splits.SPLITS]), (strategies, [strategies.STRATEGIES]),
        (tasks, [tasks.TASKS]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)  # fmt: skip
def test_type_checkers_and_tab_completion_see_every_piece(folder: ModuleType, registries: list[Any]) -> None:
    text = (Path(str(folder.__file__)).parent / "__init__.pyi").read_text()
    for piece in [piece for registry in registries for piece in registry.values()]:
        name = piece.function.__name__
        assert f"from {piece.function.__module__} import {name} as {name}\n" in text, "run `make docs`"
        assert name in folder.__all__ and callable(getattr(folder, name))
    assert set(folder.__all__) == set(re.findall(r" as (\w+)$", text, flags=re.MULTILINE))


def test_the_ten_lines_are_type_checked_by_make_check() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]
    assert {"examples/ten_lines.py", "src/flockwise"} <= set(settings["files"])
    assert "/mypy\n" in (ROOT / "Makefile").read_text(), "without arguments, or the files above do not count"
