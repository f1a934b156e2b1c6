"""A checkpoint that is whole but no server's state is refused in a line, wherever it is gone on from."""

from pathlib import Path

import numpy as np
import pytest

import flockwise
from flockwise.errors import RunError
from flockwise.store import open_run
from flockwise.store.checkpoint import checkpoint_name, state_of, write_checkpoint
from tests.reliability.made import change
from tests.runs.small import FLIC

GOOD = {
    "round": np.array([3]),
    "models": np.zeros((2, 3), np.float32),
    "labels": np.zeros(4, np.int64),
    "apart": np.zeros(4, np.int8),
}


def test_a_state_is_read() -> None:
    assert state_of(GOOD, Path("run")).clients == 4


@pytest.mark.parametrize(
    "changes",
    [
        {"round": None}, {"models": None}, {"labels": None}, {"apart": None}, {"round": np.array(3)},
        {"round": np.array([])},
        {"models": np.zeros(3, np.float32)}, {"models": np.zeros((2, 3), np.int64)}, {"labels": np.zeros(4)},
        {"apart": np.zeros(5, np.int8)}, {"labels": np.zeros((2, 2), np.int64)},
    ],
)  # fmt: skip
def test_what_is_no_state_is_named(changes: dict[str, np.ndarray | None]) -> None:
    arrays = {name: array for name, array in {**GOOD, **changes}.items() if array is not None}
    with pytest.raises(RunError, match=r"^run: the checkpoint") as caught:
        state_of(arrays, Path("run"))
    assert "\n" not in str(caught.value)


def test_going_on_from_it_and_taking_its_model_is_a_line(tmp_path: Path) -> None:
    path = tmp_path / "run"
    flockwise.run(FLIC, out=path, rounds=2)
    name, mark = write_checkpoint(path / "checkpoints", 2, {"rubbish": np.zeros(3)})
    assert name == checkpoint_name(2)
    change(path, f"UPDATE rounds SET digest = '{mark}' WHERE round = 2")
    flockwise.store.accept(path)
    for work in (
        lambda: flockwise.resume(path, rounds=3),
        lambda: flockwise.fork(path, 2, ["rounds=3"], out=tmp_path / "fork"),
        lambda: flockwise.load_model(open_run(path), client=0),
    ):
        with pytest.raises(RunError, match="checkpoint lacks 'round'"):
            work()
