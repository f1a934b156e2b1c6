"""The Python in the README and the documentation runs: each page from top to bottom, as one script."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# What is not run here, and why. A block can also say so itself: its first line is then `# not run: why`.
LEFT_OUT = {
    "docs/flower.md": "the files of a Flower app, which tests/flower/test_tutorial.py runs",
    "docs/extending.md": "the files of examples/extending, which tests/test_skeleton.py runs, and a test, run below",
    "docs/report.md#3": "Parquet needs pyarrow, which is not among the test tools",
}
# What a page takes for granted, made before its first block.
BEFORE = {
    "docs/report.md": "import flockwise; flockwise.run("
    "{'rounds': 2, 'split': {'name': 'iid', 'clients': 3}}, out='runs/my-run')"
}


def _blocks(page: str, language: str) -> list[str]:
    return re.findall(
        rf"^```{language}\n(.*?)^```", (ROOT / page).read_text(), flags=re.DOTALL | re.MULTILINE
    )


def _script(page: str) -> str:
    """The page's blocks that are meant to run, one after the other; empty if there are none."""
    wanted = [
        block
        for number, block in enumerate(_blocks(page, "python"), start=1)
        if not {page, f"{page}#{number}"} & LEFT_OUT.keys() and not block.startswith("# not run: ")
    ]
    return "\n".join([BEFORE.get(page, ""), *wanted]) if wanted else ""


def _run(*arguments: str, cwd: Path) -> str:
    """What the command prints; it must succeed."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


RUNNABLE = [name for name in (page.relative_to(ROOT).as_posix() for page in PAGES) if _script(name)]


@pytest.mark.parametrize("page", RUNNABLE)
def test_every_python_block_of_the_page_runs(page: str, tmp_path: Path) -> None:
    printed = _run("-W", "error", "-c", _script(page), cwd=tmp_path)
    if page == "docs/python.md":
        assert printed.splitlines()[-1] == "[0 0 0 1 1 1]"


def test_what_is_left_out_is_still_there() -> None:
    for name in LEFT_OUT:
        page, _, number = name.partition("#")
        assert len(_blocks(page, "python")) >= int(number or 1), name


def test_the_example_of_a_battery_passes(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(_blocks("docs/extending.md", "python")[-1])
    _run("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_mine.py", cwd=tmp_path)


CONFIG = """
rounds = 6
split = {name = "label_swap", groups = 2, clients = 10}
aggregation = {name = "without_longest:without_longest", drop = 2}
attack = {name = "whisper:whisper", strength = 0.5, clients = 2}
strategy = {name = "custom", clustering = "gaps:LargestGap", similarity = "one-plus-cosine", first = 3}
"""


def test_the_examples_can_be_named_in_a_config_beside_them(tmp_path: Path) -> None:
    for file in (ROOT / "examples" / "extending").glob("*.py"):
        (tmp_path / file.name).write_text(file.read_text())
    (tmp_path / "mine.toml").write_text(CONFIG)
    _run("-m", "flockwise", "run", "mine.toml", "--out", "run", "-q", cwd=tmp_path)
    _run("-m", "flockwise", "resume", "run", "--rounds", "8", "-q", cwd=tmp_path)
    own = ["--set", "strategy.name=last_layer:last_layer", "--set", "rounds=3"]
    (tmp_path / "plain.toml").write_text("split = {name = 'label_swap', groups = 2, clients = 6}")
    _run("-m", "flockwise", "run", "plain.toml", *own, "--out", "own", "-q", cwd=tmp_path)
