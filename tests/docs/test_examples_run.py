"""The code in the documentation runs."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def _blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / page).read_text(), flags=re.DOTALL)


@pytest.mark.parametrize("number", range(3))
def test_python_examples_run(number: int, tmp_path: Path) -> None:
    code = _blocks("python.md", "python")[number]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    if number == 2:
        assert done.stdout.split() == ["[0", "0", "0", "1", "1", "1]"]


def test_the_plug_in_example_runs_and_passes_its_battery(tmp_path: Path) -> None:
    mine, battery = _blocks("plugins.md", "python")
    (tmp_path / "mine.py").write_text(mine)
    (tmp_path / "test_mine.py").write_text(battery)
    (tmp_path / "mine.toml").write_text(_blocks("plugins.md", "toml")[0])
    run = [sys.executable, "-m", "flockwise", "run", "mine.toml", "--out", "run", "-q"]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_mine.py"]
    done = subprocess.run(tests, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
