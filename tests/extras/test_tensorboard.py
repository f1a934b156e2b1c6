"""TensorBoard reads what trackers and exports write."""

from pathlib import Path
from typing import Any

import pytest

import flockwise as fw
from flockwise.export import export_run

pytest.importorskip("tensorboard", reason="tensorboard is not installed: .ci/extended extras")

CONFIG = {"rounds": 3, "split": {"clients": 3}, "engine": {"workers": 1}}
pytestmark = pytest.mark.filterwarnings("ignore")  # the library's own


def read(folder: Path) -> Any:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder))
    events.Reload()
    return events


def test_a_resumed_run_goes_on_in_the_same_curve(tmp_path: Path) -> None:
    with fw.trackers.TensorBoard(tmp_path / "logs") as track:
        fw.run(CONFIG, out=tmp_path / "run", on_round=track)
    with fw.trackers.TensorBoard(tmp_path / "logs") as track:
        run = fw.resume(tmp_path / "run", rounds=5, on_round=track)
    events = read(tmp_path / "logs" / "run")
    points = events.Scalars("accuracy")
    assert [point.step for point in points] == [1, 2, 3, 4, 5]
    assert [point.value for point in points] == pytest.approx(run.facts["accuracy"].tolist())
    assert "config/text_summary" in events.Tags()["tensors"]


def test_an_export_holds_every_number(tmp_path: Path) -> None:
    run = fw.run(CONFIG, out=tmp_path / "run")
    export_run(tmp_path / "run", "tensorboard", tmp_path / "logs")
    events = read(tmp_path / "logs")
    assert set(run.facts) <= set(events.Tags()["scalars"])
