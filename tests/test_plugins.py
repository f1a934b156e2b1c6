from pathlib import Path

import pytest

from flockwise.errors import PluginError
from flockwise.plugins import find


def test_modules_of_the_same_name_beside_different_configs_are_told_apart(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "my_pieces.py").write_text(f"from my_helper_{folder} import name\n")
        (tmp_path / folder / f"my_helper_{folder}.py").write_text(f"name = {folder!r}\n")
    for _ in range(2):
        for folder in ("one", "two"):
            assert find("aggregators", "my_pieces:name", {}, tmp_path / folder) == folder


def test_a_module_that_cannot_be_imported_is_said_to_be_so(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match="cannot import 'nowhere_at_all'"):
        find("models", "nowhere_at_all:f", {}, tmp_path)
