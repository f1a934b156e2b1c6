"""The hooks look at every file that `make check` looks at."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def hook(name: str) -> re.Pattern[str]:
    """Which files a hook is for. YAML without a reader of it: the entry's `files` line."""
    entry = (ROOT / ".pre-commit-config.yaml").read_text().split(f"- id: {name}\n")[1].split("- id:")[0]
    return re.compile(re.findall(r"^ +files: (.+)$", entry, flags=re.MULTILINE)[0])


def test_the_hook_of_the_page_scripts_is_for_all_that_biome_checks() -> None:
    checked = json.loads((ROOT / "biome.json").read_text())["files"]["includes"]
    scripts = [str(file.relative_to(ROOT)) for pattern in checked for file in ROOT.glob(pattern)]
    assert len(scripts) > 3
    assert not [script for script in scripts if not hook("biome").search(script)]


def test_the_hook_of_the_types_is_for_all_that_mypy_checks() -> None:
    for file in ("src/flockwise/options.py", "src/flockwise/models/__init__.pyi", "examples/ten_lines.py"):
        assert hook("mypy").search(file) and (ROOT / file).is_file()
