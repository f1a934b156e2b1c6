"""Runs whose clients are compared on sketches: the same flocks, resumed to the same bits, and clear refusals."""

import numpy as np
import pytest

import flockwise as fw
from flockwise.config import parse_config
from flockwise.errors import ConfigError
from flockwise.runs.capacity import memory_needed, refuse_too_large

CONFIG = {
    "rounds": 4,
    "data": {"name": "digits"},
    "split": {"name": "label_swap", "clients": 12, "groups": 2},
    "training": {"epochs": 3, "learning_rate": 0.1},
    "strategy": {"name": "flic", "warmup": 2},
    "engine": {"workers": 1},
    "checkpoint": {"every": 1},
}


def test_sketches_find_the_flocks_that_whole_updates_find(tmp_path):
    whole = fw.run({**CONFIG, "evidence": {"sketch": "none"}}, out=tmp_path / "whole")
    short = fw.run({**CONFIG, "evidence": {"sketch": 128}}, out=tmp_path / "short")
    assert np.array_equal(whole.array_at("flock", 4), short.array_at("flock", 4))
    assert set(whole.array_at("flock", 4).tolist()) == {0, 1}


def test_a_run_with_sketches_is_resumed_to_the_same_bits(tmp_path):
    config = {**CONFIG, "evidence": {"sketch": 64}}
    at_once = fw.run(config, out=tmp_path / "at once")
    begun = fw.run(config, out=tmp_path / "begun", stop=lambda: True)
    assert len(begun.rounds) == 1
    resumed = fw.resume(tmp_path / "begun")
    ends = [run.checkpoint() for run in (at_once, resumed)]
    assert ends[0].keys() == ends[1].keys()
    assert all(np.array_equal(ends[0][name], ends[1][name]) for name in ends[0])


def test_few_clients_are_compared_exactly_unless_somebody_says_otherwise(tmp_path):
    run = fw.run({**CONFIG, "rounds": 1}, out=tmp_path / "run")
    held = {name.split("/")[1] for name in run.checkpoint() if name.startswith("memory/")}
    assert "evidence" in held and "sketches" not in held


@pytest.mark.parametrize(("wrong", "told"), [(5, "sketch"), ("few", "sketch"), (2.5, "sketch")])
def test_a_width_that_makes_no_sense_is_refused(wrong, told):
    with pytest.raises(ConfigError, match=told):
        parse_config({**CONFIG, "evidence": {"sketch": wrong}})


def test_l1_refuses_sketches_before_anything_starts(tmp_path):
    config = {**CONFIG, "strategy": {"name": "fl-hc"}, "evidence": {"sketch": 64}}
    with pytest.raises(ConfigError, match=r"evidence.sketch = 64: similarity 'l1' cannot be had"):
        fw.run(config, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_what_does_not_fit_is_told_with_the_sketch_that_would(monkeypatch):
    monkeypatch.setattr("flockwise.runs.capacity.free_memory", lambda: 8 * 10**9)
    with pytest.raises(
        ConfigError, match=r"needs about 732 GB .* choose evidence.sketch = 512, which needs 450 MB"
    ):
        refuse_too_large(fw.flic(), 100_000, 30_000)
    refuse_too_large(fw.flic(), 1_000_000, 7_850, 256)
    assert memory_needed(fw.flic(), 1_000_000, 7_850, 256) < 3 * 10**9
    with pytest.raises(ConfigError) as refused:
        refuse_too_large(fw.communities(), 100_000, 30_000)
    assert "sketch" not in str(refused.value)
