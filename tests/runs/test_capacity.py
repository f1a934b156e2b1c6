"""What does not fit into this machine is refused in one line before anything starts."""

from pathlib import Path

import pytest

import flockwise as fw
from flockwise.config import parse_config
from flockwise.errors import ConfigError, InputError
from flockwise.runs import capacity
from flockwise.runs.capacity import memory_needed, refuse_too_large

from .small import with_changes


def test_flic_is_counted_with_its_updates_and_its_comparisons() -> None:
    clients, parameters = 1000, 650
    rows = (1 + clients) * parameters * 4
    assert memory_needed(fw.flic(), clients, parameters) == rows + 9 * clients**2 * 8
    twice = (1 + 2 * clients) * parameters * 4
    assert memory_needed(fw.communities(), clients, parameters) == twice + 8 * clients**2 * 8
    assert memory_needed(fw.fl_hc(), clients, parameters) == parameters * 4 + 8 * clients**2 * 8
    assert memory_needed(fw.fedavg(), clients, parameters) == parameters * 4
    assert memory_needed(fw.ifca(flocks=3, restarts=2), clients, parameters) == 6 * parameters * 4


def test_a_hundred_thousand_clients_are_too_many_for_flic_and_none_for_fedavg(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(capacity, "free_memory", lambda: 16_000_000_000)
    with pytest.raises(ConfigError) as refused:
        refuse_too_large(fw.flic(), 100_000, 650)
    (line,) = str(refused.value).splitlines()
    assert "strategy.name = 'flic': with 100000 clients and 650 parameters it needs about 720 GB" in line
    assert "16 GB are free" in line and "fedavg" in line
    refuse_too_large(fw.fedavg(), 100_000, 650)
    refuse_too_large(fw.flic(), 10_000, 650)


def test_it_is_told_before_there_is_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capacity, "free_memory", lambda: 1000)
    with pytest.raises(ConfigError, match="1 kB are free"):
        fw.run(with_changes(), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_machine_that_does_not_tell_is_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capacity, "_system", lambda: None)
    monkeypatch.setattr(capacity, "_container", lambda: None)
    refuse_too_large(fw.flic(), 100_000_000, 10**9)


def test_the_limit_of_a_container_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capacity, "_GROUPS", tmp_path)
    (tmp_path / "memory.max").write_text("5000\n")
    (tmp_path / "memory.current").write_text("4000\n")
    assert capacity.free_memory() == 1000
    (tmp_path / "memory.max").write_text("max\n")
    assert capacity.free_memory() != 1000


@pytest.mark.parametrize("split", [*fw.splits.SPLITS])
def test_no_split_of_a_billion_clients_goes_on_for_ever(split: str) -> None:
    if fw.splits.SPLITS[split].example is None:
        pytest.skip("needs data that say whose each sample is")
    with pytest.raises(InputError, match=r"clients = 1000000000: must be"):
        fw.splits.SPLITS[split](fw.data.digits(), clients=10**9)


def test_a_config_of_a_billion_clients_or_flocks_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"split\.clients = 1000000000: must be at most 1000000"):
        parse_config({"split": {"clients": 10**9}})
    with pytest.raises(
        ConfigError, match=r"strategy\.flocks = 1000000000: must be at most split\.clients = 20"
    ):
        parse_config({"strategy": {"name": "ifca", "flocks": 10**9}})


@pytest.mark.parametrize(
    "text", ["seed=0x" + "f" * 5000, "strategy.flocks=0x" + "f" * 20, "checkpoint.at=[0x1" + "0" * 16 + "]"]
)
def test_a_number_without_end_is_refused_by_its_field(text: str) -> None:
    with pytest.raises(
        ConfigError, match=rf"^{text.partition('=')[0]} = a number of \d+ bits: must fit into 64"
    ):
        parse_config({}, [text])


def test_a_round_whose_updates_do_not_fit_is_refused_with_a_fraction_that_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(capacity, "free_memory", lambda: 10**9)
    capacity.refuse_large_round(10_000, 7_850, 0.01, "krum needs all of them at once")
    with pytest.raises(
        ConfigError, match=r"^sampling.fraction = 0.1: .* 100000 clients .* krum needs .* at most 0.03"
    ):
        capacity.refuse_large_round(100_000, 7_850, 0.1, "krum needs all of them at once")
    capacity.refuse_large_round(100_000, 7_850, 0.1, "")
