"""What README and docs/python.md show works with what README installs: no pandas, no pytest, no other test tool."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def _imported(requirement: str) -> str:
    return re.split(r"[\[<>=; ]", requirement)[0].replace("-", "_").lower()


# Only what nothing but the tests needs: a package of the install may stand among the test tools too.
TOOLS = {_imported(each) for each in PROJECT["optional-dependencies"]["dev"]} - {
    _imported(e) for e in PROJECT["dependencies"]
}


@pytest.mark.parametrize("page", ["README.md", "docs/python.md"])
def test_the_python_of_the_page_needs_none_of_the_test_tools(page: str, tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), flags=re.DOTALL | re.MULTILINE)
    absent = f"import sys; sys.modules.update(dict.fromkeys({sorted(TOOLS)!r}))\n"
    assert {"pandas", "pytest"} <= TOOLS
    script = absent + "\n".join(block for block in blocks if not block.startswith("# not run: "))
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_readme_says_where_the_command_is_and_installs_what_it_uses() -> None:
    text = (ROOT / "README.md").read_text()
    assert ".venv/bin/flockwise" in text
    assert "[dashboard]" in text.split("flockwise serve")[0]  # before the command that needs it
