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
    "docs/architecture.md": "the outline of a loop, not a program",
    "docs/flower.md": "the files of a Flower app, which tests/flower/test_tutorial.py runs",
    "docs/plugins.md": "a file and its tests, which are run below",
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


def test_the_plug_in_example_runs_and_passes_its_battery(tmp_path: Path) -> None:
    mine, battery = _blocks("docs/plugins.md", "python")
    (tmp_path / "mine.py").write_text(mine)
    (tmp_path / "test_mine.py").write_text(battery)
    (tmp_path / "mine.toml").write_text(_blocks("docs/plugins.md", "toml")[0])
    _run("-m", "flockwise", "run", "mine.toml", "--out", "run", "-q", cwd=tmp_path)
    _run("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_mine.py", cwd=tmp_path)
