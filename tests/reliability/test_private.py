"""What a run holds of its clients is for its owner's eyes, whatever the umask."""

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import flockwise
from flockwise.store import create_run
from flockwise.store.policy import CheckpointPolicy
from tests.reliability.made import make
from tests.runs.small import FLIC


@pytest.fixture(params=[0o000, 0o022, 0o077], autouse=True)
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def modes(path: Path) -> dict[str, int]:
    found = [path, *path.rglob("*")]
    return {str(file.relative_to(path)): stat.S_IMODE(file.stat().st_mode) for file in found}


def test_a_run_directory_is_its_owners_alone(tmp_path: Path) -> None:
    flockwise.run(FLIC, out=tmp_path / "deep" / "runs" / "run", rounds=2)
    path = tmp_path / "deep" / "runs" / "run"
    expected = {name: 0o700 if (path / name).is_dir() else 0o600 for name in modes(path)}
    assert modes(path) == expected
    assert {"run.sqlite", "config.toml", "checkpoints", "lock"} <= set(expected)


def test_the_journal_of_a_run_under_way_is_too(tmp_path: Path) -> None:
    with create_run(tmp_path / "run", {}, {}, CheckpointPolicy()) as writer:
        writer.about(state="running")
        found = modes(tmp_path / "run")
        assert {found["run.sqlite"], found["run.sqlite-wal"], found["run.sqlite-shm"]} == {0o600}


def test_wishes_about_clients_are_too(tmp_path: Path) -> None:
    from flockwise.store.requests import file_request

    file_request(make(tmp_path / "run"), {"action": "release", "client": 1})
    found = modes(tmp_path / "run")
    assert found["requests"] == 0o700
    assert {mode for name, mode in found.items() if name.startswith("requests/")} == {0o600}


def test_a_folder_that_was_there_stays_as_open_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run").chmod(0o755)
    make(tmp_path / "run")
    found = modes(tmp_path / "run")
    assert found.pop(".") == 0o755 and found.pop("checkpoints") == 0o700
    assert set(found.values()) == {0o600}


def test_reports_are_made_to_be_shared(tmp_path: Path) -> None:
    program = (
        "import os, sys; os.umask(0o022); from pathlib import Path; from flockwise.store.files import write_atomically\n"
        "write_atomically(Path(sys.argv[1]), b'x'); print(oct(os.stat(sys.argv[1]).st_mode & 0o777))"
    )
    told = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "report.html")], capture_output=True, text=True
    )
    assert told.stdout.strip() == "0o644"
