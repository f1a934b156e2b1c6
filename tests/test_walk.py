"""The walk of one update in docs/architecture.md names every file that an update passes, and no more than fifteen."""

import re
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import flockwise as fw
from flockwise.messages import Replies
from flockwise.stages.batch import Batch

SOURCE = Path(fw.__file__).parent
PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
CLIENTS, PARAMETERS = 6, 650


def named() -> list[str]:
    """The files of the walk, in order."""
    part = PAGE.read_text().split("## One update, file by file")[1].split("\n## ")[0]
    return re.findall(r"^\| \d+ \| `([^`]+)` \|", part, flags=re.MULTILINE)


def carries(value: Any) -> bool:
    if isinstance(value, Replies | Batch):
        return True
    return (
        isinstance(value, np.ndarray) and value.shape == (CLIENTS, PARAMETERS) and value.dtype == np.float32
    )


def passed(tmp_path: Path) -> set[str]:
    """The files whose functions are given the round's updates, or return them, in a round of FedAvg."""
    seen: set[str] = set()

    def notice(frame: FrameType, event: str, argument: Any) -> None:
        file = Path(frame.f_code.co_filename)
        if event in ("call", "return") and file.is_relative_to(SOURCE):
            values = frame.f_locals.values() if event == "call" else [argument, *frame.f_locals.values()]
            if any(map(carries, values)):
                seen.add(str(file.relative_to(SOURCE)))

    clients = fw.splits.iid(fw.data.digits(), clients=CLIENTS, samples=30)
    before = sys.getprofile()
    sys.setprofile(notice)
    try:
        fw.run(
            fw.fedavg(), clients, model=fw.models.softmax, rounds=1, engine=fw.Local(1), out=tmp_path / "run"
        )
    finally:
        sys.setprofile(before)
    return seen


def test_the_walk_is_at_most_fifteen_files_and_each_is_there() -> None:
    files = named()
    assert 0 < len(files) <= 15 and len(set(files)) == len(files)
    assert not [file for file in files if not (SOURCE / file).is_file()]


def test_every_other_file_that_is_named_there_is_there_too() -> None:
    part = PAGE.read_text().split("## One update, file by file")[1].split("\n## ")[0]
    for file in re.findall(r"`([\w/]+\.py)`", part):
        assert (SOURCE / file).is_file() or (PAGE.parents[1] / file).is_file(), file


def test_the_walk_leaves_out_no_file_that_an_update_passes(tmp_path: Path) -> None:
    found = {file for file in passed(tmp_path) if not file.startswith("kernels/")}
    assert found == {file for file in named() if not file.startswith("kernels/")}
