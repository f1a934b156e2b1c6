from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import flockwise
from flockwise import Federation
from flockwise.attacks import UpdateAttack, gaussian
from flockwise.config import parse_config
from flockwise.errors import ConfigError, RunError
from flockwise.runs.assembly import assemble
from flockwise.server import Server
from flockwise.stages import State
from flockwise.store import accept, open_run, reopen_run
from flockwise.store.policy import CheckpointPolicy
from flockwise.store.requests import apply_requests, file_request
from tests.runs.small import FLIC, fingerprint, with_changes


@pytest.mark.parametrize("workers", [2, 3])
def test_the_number_of_workers_does_not_change_a_bit(workers: int, tmp_path: Path) -> None:
    flockwise.run(FLIC, out=tmp_path / "one")
    flockwise.run(with_changes(engine={"workers": workers}), out=tmp_path / "many")
    assert fingerprint(tmp_path / "one") == fingerprint(tmp_path / "many")


def test_the_same_seed_gives_the_same_run_and_another_seed_another(tmp_path: Path) -> None:
    marks = []
    for number, seed in enumerate((3, 3, 4)):
        flockwise.run({**FLIC, "seed": seed}, out=tmp_path / str(number))
        marks.append(fingerprint(tmp_path / str(number)))
    assert marks[0] == marks[1] != marks[2]


def test_how_long_clients_and_server_took_is_on_record_beside_the_facts(tmp_path: Path) -> None:
    run = flockwise.run(FLIC, out=tmp_path / "run")
    assert set(run.times) == {"clients", "server"}
    assert (run.times["clients"] > 0).all() and (run.times["server"] > 0).all()
    assert (run.times["clients"] + run.times["server"] <= run.seconds).all()
    assert not any("seconds" in name for name in run.facts)  # no two runs agree on them


def test_a_stopped_run_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    flockwise.run(FLIC, out=tmp_path / "whole")
    rounds: list[int] = []
    stopped = flockwise.run(
        {**FLIC, "checkpoint": {}}, out=tmp_path / "run",
        on_round=lambda progress: rounds.append(progress.round), stop=lambda: len(rounds) >= 2,
    )  # fmt: skip
    assert stopped.state == "stopped"
    assert stopped.rounds.tolist() == [1, 2, 3]
    assert flockwise.resume(tmp_path / "run").state == "finished"
    assert fingerprint(tmp_path / "run") == fingerprint(tmp_path / "whole")


def test_a_fork_with_nothing_changed_is_the_run_itself(tmp_path: Path) -> None:
    flockwise.run(with_changes(checkpoint={"at": [3]}), out=tmp_path / "run")
    flockwise.fork(tmp_path / "run", 3, out=tmp_path / "fork")
    assert fingerprint(tmp_path / "run") == fingerprint(tmp_path / "fork")


def test_a_fork_shares_the_prefix_and_then_differs(tmp_path: Path) -> None:
    run = flockwise.run(with_changes(checkpoint={"at": [3]}), out=tmp_path / "run")
    other = flockwise.fork(tmp_path / "run", 3, ["aggregation.name=median"], out=tmp_path / "fork")
    assert np.array_equal(run.facts["accuracy"][:3], other.facts["accuracy"][:3])
    assert not np.array_equal(run.array("loss")[1][4:], other.array("loss")[1][4:])
    assert other.config["aggregation"]["name"] == "median"


def test_a_fork_cannot_change_the_data_or_start_where_nothing_was_kept(tmp_path: Path) -> None:
    flockwise.run(with_changes(checkpoint={"at": [3]}), out=tmp_path / "run")
    with pytest.raises(ConfigError, match="split: cannot change in a fork"):
        flockwise.fork(tmp_path / "run", 3, ["split.clients=4"], out=tmp_path / "fork")
    with pytest.raises(RunError, match="no checkpoint of round 2; kept are 3"):
        flockwise.fork(tmp_path / "run", 2, out=tmp_path / "fork")


def test_a_run_directory_is_never_overwritten(tmp_path: Path) -> None:
    flockwise.run(FLIC, out=tmp_path / "run")
    with pytest.raises(RunError, match="already holds a run"):
        flockwise.run(FLIC, out=tmp_path / "run")


def test_flocks_are_found_and_accuracy_jumps(tmp_path: Path) -> None:
    config = with_changes(
        model={"name": "mlp"}, faults={"dropout": 0.0}, strategy={"warmup": 9}, training={"epochs": 3, "learning_rate": 0.1},
        sampling={"fraction": 1.0},
    )  # fmt: skip
    run = flockwise.run({**config, "rounds": 14}, out=tmp_path / "run")
    found = run.facts["flocks"].argmax()
    assert run.facts["ari"][-1] == 1.0
    assert run.facts["accuracy"][-1] > run.facts["accuracy"][found - 1] + 0.05


def test_bring_your_own_module_and_arrays(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    direction = rng.normal(size=(2, 6))
    clients = []
    for number in range(6):
        x = rng.normal(size=(60, 6)).astype(np.float32)
        clients.append((x, (x @ direction[number % 2] > 0).astype(int)))

    class Mine(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(6, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.layer(x)

    federation = Federation.from_arrays(clients, groups=[0, 1] * 3)
    config = {
        "rounds": 12,
        "strategy": {"name": "flic", "warmup": 6},
        "training": {"learning_rate": 0.5, "epochs": 3},
    }
    run = flockwise.run(config, clients=federation, model=Mine(), out=tmp_path / "run")
    assert run.facts["ari"][-1] == 1.0
    assert run.metrics["accuracy"].iloc[-1] > 0.85


def _gaussian_after_training() -> UpdateAttack:
    return replace(gaussian(), knows=frozenset({"own"}))


@pytest.mark.parametrize(
    "strategy", [{"name": "flic"}, {"name": "ifca", "warmup": None, "min_separation": None}]
)
def test_attackers_that_know_nothing_need_not_train(strategy: dict[str, Any], tmp_path: Path) -> None:
    states, losses = [], []
    strategy = {key: value for key, value in {**FLIC["strategy"], **strategy}.items() if value is not None}
    for name in ("gaussian", "tests.runs.test_running:_gaussian_after_training"):
        config = {
            **with_changes(attack={"name": name, "clients": [1, 2], "first_round": 3}),
            "strategy": strategy,
        }
        run = flockwise.run(config, out=tmp_path / str(len(states)))
        states.append(run.checkpoint())
        losses.append(run.array("loss")[1])
    assert all(np.array_equal(states[0][key], states[1][key], equal_nan=True) for key in ("models", "labels"))
    trained = [np.isfinite(loss[:, [1, 2]]) for loss in losses]
    assert trained[0][:2].any() and not trained[0][2:].any() and trained[1][2:].any()


def test_attackers_and_dropouts_are_on_record(tmp_path: Path) -> None:
    config = with_changes(
        split={"name": "iid", "groups": None},
        attack={"name": "reverse", "clients": [1, 2]},
        faults={"dropout": 0.5},
    )
    config["split"].pop("groups")
    run = flockwise.run(config, out=tmp_path / "run")
    assert [client["client"] for client in run.clients if client["attacker"]] == [1, 2]
    assert any(event.kind == "dropout" for event in run.events)
    assert "detection_recall" in run.facts


def test_a_person_can_release_a_client_while_the_run_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "run"

    def ask(progress: flockwise.Progress) -> None:
        if progress.round == 3:
            (path / "requests").mkdir()
            (path / "requests" / "a.json").write_text('{"action": "quarantine", "client": 5}')
            (path / "requests" / "b.json").write_text("not json")
        if progress.round == 5:
            (path / "requests" / "c.json").write_text('{"action": "release", "client": 5}')

    run = flockwise.run(FLIC, out=path, on_round=ask)
    _, apart = run.array("apart")
    assert apart[:, 5].tolist() == [0, 0, 0, 1, 1, 0, 0, 0]
    assert not list((path / "requests").iterdir())


def test_a_fork_keeps_checkpoints_of_its_own(tmp_path: Path) -> None:
    flockwise.run(FLIC, out=tmp_path / "run")
    seen = []

    def stop() -> bool:
        seen.append(open_run(tmp_path / "fork").checkpoints)
        return False

    flockwise.fork(tmp_path / "run", 7, ["rounds=10"], out=tmp_path / "fork", stop=stop)
    assert seen == [[7], [7, 8]] and open_run(tmp_path / "fork").checkpoints == [
        9,
        10,
    ]  # asked before each commit


def test_a_fork_that_was_not_finished_being_made_does_not_go_on_as_another_run(tmp_path: Path) -> None:
    flockwise.run(FLIC, out=tmp_path / "run")
    flockwise.fork(tmp_path / "run", 7, ["rounds=10"], out=tmp_path / "fork")
    with reopen_run(tmp_path / "fork", CheckpointPolicy()) as writer:
        writer.forget_after(5)  # as if it had died between two inherited rounds
    with pytest.raises(RunError, match="stopped while it was being made"):
        flockwise.resume(tmp_path / "fork")


def test_a_resumed_run_remembers_how_far_it_was_to_go(tmp_path: Path) -> None:
    path = tmp_path / "run"
    flockwise.run(FLIC, out=path)
    rounds = iter([False, True])
    flockwise.resume(path, rounds=12, stop=lambda: next(rounds))
    assert open_run(path).rounds[-1] == 10
    assert flockwise.resume(path).rounds[-1] == 12
    with reopen_run(path, CheckpointPolicy()) as writer:
        writer.about(goal="as far as it goes")
    assert flockwise.resume(path).state == "finished", "what cannot be a number is not believed"


def test_a_run_does_not_go_back_to_a_round_that_it_has_passed(tmp_path: Path) -> None:
    path = tmp_path / "run"
    done = flockwise.run({**FLIC, "rounds": 4}, out=path)
    for rounds in (0, 3):
        with pytest.raises(
            ConfigError, match=rf"rounds = {rounds}: must be at least 4, the round that .*fork"
        ) as refused:
            flockwise.resume(path, rounds=rounds)
        assert "\n" not in str(refused.value)
    assert open_run(path).goal == 4 and open_run(path).rounds.tolist() == done.rounds.tolist()
    assert flockwise.resume(path, rounds=4).state == "finished"


def test_a_run_that_cannot_go_on_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "run"
    flockwise.run(FLIC, out=path)
    text = (path / "config.toml").read_text()
    (path / "config.toml").write_text(text.replace('"softmax"', '"mlp"'))
    with pytest.raises(RunError, match=r"config\.toml: is not what was written"):
        flockwise.resume(path)
    accept(path)
    with pytest.raises(RunError, match="another model"):
        flockwise.resume(path)
    assert open_run(path).state == "finished" and open_run(path).rounds[-1] == 8


def test_a_wish_is_carried_out_once_and_in_order(tmp_path: Path) -> None:
    path = tmp_path / "run"
    flockwise.run(FLIC, out=path)
    server = _server(path)
    for action in ("quarantine", "release"):
        file_request(path, {"action": action, "client": 3})
    events, _ = apply_requests(path, server)
    assert [event.kind for event in events] == ["quarantine", "released"] and server.state.free[3]
    with reopen_run(path, CheckpointPolicy()) as writer:
        writer.events(8, events)  # committed, and then it died: the files are still there
    again, settle = apply_requests(path, _server(path))
    assert again == []
    settle()
    assert not list((path / "requests").iterdir())


def _server(path: Path) -> Server:
    return assemble(
        parse_config(open_run(path).config), State.from_arrays(open_run(path).checkpoint())
    ).server
