"""A fork or a continuation with another method, or other options: what does not fit is added, forgotten or refused."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flockwise as fw
from flockwise.errors import ConfigError
from flockwise.store import reopen_run
from flockwise.store.policy import CheckpointPolicy

BASE: dict[str, Any] = {
    "rounds": 3, "split": {"name": "iid", "clients": 4, "samples": 40}, "engine": {"workers": 1},
    "model": {"name": "mlp", "hidden": 8},
    "checkpoint": {"every": 1, "keep": 10},
}  # fmt: skip


def begun(folder: Path, **sections: Any) -> Path:
    return fw.run({**BASE, **sections}, out=folder / "first").path


def goes_on(way: str, path: Path, *overrides: str) -> fw.Run:
    out = path.parent / way
    if way == "fork":
        return fw.fork(path, 3, ["rounds=5", *overrides], out=out)
    return fw.continue_run(path, more=2, overrides=overrides, out=out)


@pytest.mark.parametrize("way", ["fork", "continue"])
@pytest.mark.parametrize(("first", "then"), [("fedavg", "strategy.name=ifca"), ("ifca", "strategy.flocks=3")])
def test_models_that_a_method_starts_from_and_that_are_missing_are_new(
    first: str, then: str, way: str, tmp_path: Path
) -> None:
    path = begun(tmp_path, strategy={"name": first})
    old = fw.open_run(path).checkpoint(3)["models"]
    run = goes_on(way, path, then)
    assert run.rounds[-1] == 5 and run.state == "finished"
    begins = run.checkpoint(3)["models"]
    assert len(begins) == len(old) + 1 and np.array_equal(begins[: len(old)], old)
    assert not any(np.array_equal(begins[-1], model) for model in old)


@pytest.mark.parametrize("way", ["fork", "continue"])
@pytest.mark.parametrize("first", ["apfl", "ditto", "fedsoft"])
def test_what_clients_kept_for_another_method_is_forgotten(first: str, way: str, tmp_path: Path) -> None:
    path = begun(tmp_path, strategy={"name": first})
    run = goes_on(way, path, "strategy.name=fedavg")
    assert run.rounds[-1] == 5
    told = [event for event in run.events if event.kind == "forgotten"]
    assert [event.round for event in told if event.message.startswith("what clients kept to themselves")] == [
        3
    ]
    assert not any(name.startswith("clients/") for name in run.checkpoint(3))


def test_a_fork_that_stops_at_once_resumes_from_what_fits(tmp_path: Path) -> None:
    for number, (first, then) in enumerate([("ditto", "fedavg"), ("fedavg", "ifca")]):
        folder = tmp_path / str(number)
        path = begun(folder, strategy={"name": first})
        whole = goes_on("fork", path, f"strategy.name={then}")
        part = shutil.copytree(whole.path, folder / "part")
        with reopen_run(part, CheckpointPolicy()) as writer:
            writer.forget_after(3)  # as if it had been killed in its first round
        again = fw.resume(part)
        assert np.array_equal(again.checkpoint(5)["models"], whole.checkpoint(5)["models"])


def test_a_fork_with_the_same_method_keeps_what_clients_kept(tmp_path: Path) -> None:
    path = begun(tmp_path, strategy={"name": "ditto"})
    run = goes_on("fork", path, "training.learning_rate=0.01")
    assert np.array_equal(run.checkpoint(3)["clients/own"], fw.open_run(path).checkpoint(3)["clients/own"])
    assert not [event for event in run.events if event.kind == "forgotten"]


@pytest.mark.parametrize(
    ("sections", "override", "ways"),
    [
        ({"strategy": {"name": "cfl-gp"}}, "strategy.flocks=3", ("fork", "continue")),
        ({"strategy": {"name": "flux", "warmup": 2}}, "strategy.size=5", ("fork", "continue")),
        ({"strategy": {"name": "pacfl"}}, "strategy.vectors=2", ("fork", "continue")),
        ({"aggregation": {"name": "fldetector"}}, "aggregation.window=5", ("fork",)),
    ],
)  # fmt: skip
def test_an_option_that_shaped_a_memory_is_refused_in_one_line(
    sections: dict[str, Any], override: str, ways: tuple[str, ...], tmp_path: Path
) -> None:
    path = begun(tmp_path, **sections)
    field, _, value = override.partition("=")
    for way in ways:
        with pytest.raises(ConfigError, match=rf"{field} = {value}: must stay \d+ after round 3") as refused:
            goes_on(way, path, override)
        assert "\n" not in str(refused.value) and not (tmp_path / way).exists()
    if ways == ("fork",):  # a rule starts anew in a continuation
        assert goes_on("continue", path, override).rounds[-1] == 5


@pytest.mark.parametrize("way", ["fork", "continue"])
def test_a_memory_of_another_method_is_forgotten_where_both_have_one_of_its_name(
    way: str, tmp_path: Path
) -> None:
    path = begun(tmp_path, strategy={"name": "flux", "warmup": 2})
    run = goes_on(way, path, "strategy.name=pacfl")
    assert run.rounds[-1] == 5
    assert "memory 'told' is of flux, and starts anew" in [event.message for event in run.events]
