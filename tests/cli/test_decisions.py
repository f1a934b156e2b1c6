"""Releasing, confirming and setting apart from the command line."""

from pathlib import Path

import numpy as np
from click.testing import CliRunner

import flockwise
from flockwise.cli.app import app
from tests.runs.small import with_changes


def test_a_person_sets_a_client_apart_and_lets_it_back_in(tmp_path: Path) -> None:
    path, rounds = tmp_path / "run", iter([False, False, True])
    flockwise.run(with_changes(), out=path, stop=lambda: next(rounds, True))
    told = CliRunner().invoke(app, ["quarantine", str(path), "2", "5"])
    assert (
        told.exit_code == 0 and "client 2, client 5, from the round after `flockwise resume`" in told.output
    )
    assert flockwise.resume(path, rounds=4).apart == [2, 5]
    assert CliRunner().invoke(app, ["release", str(path), "2"]).exit_code == 0
    assert CliRunner().invoke(app, ["confirm", str(path), "5"]).exit_code == 0
    run = flockwise.resume(path, rounds=6)
    assert run.apart == [5]
    assert {"quarantine", "released", "confirmed"} <= {event.kind for event in run.events}


def test_a_client_that_is_not_there_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run"
    flockwise.run(with_changes(), out=path, stop=lambda: True)
    refused = CliRunner().invoke(app, ["release", str(path), "99"])
    assert refused.exit_code != 0
    assert "client = 99: must lie between 0 and 7" in str(refused.exception)


def test_a_run_that_goes_takes_a_decision_up_at_its_next_round(tmp_path: Path) -> None:
    path, told = tmp_path / "run", []

    def decide(progress: flockwise.Progress) -> None:
        if progress.round == 2:
            told.append(CliRunner().invoke(app, ["quarantine", str(path), "3"]))

    run = flockwise.run(with_changes(), out=path, on_round=decide)
    assert told[0].exit_code == 0 and "quarantine: client 3, from its next round on" in told[0].output
    rounds, apart = run.array("apart")
    assert apart[:, 3].tolist() == [0, 0, *[1] * (len(rounds) - 2)]


def test_clients_are_said_by_name_too(tmp_path: Path) -> None:
    rows = (np.arange(24.0).reshape(12, 2) / 24, np.arange(12) % 2)
    clients = flockwise.Federation.from_arrays({"north": rows, "south": rows, "west": rows})
    model = flockwise.models.softmax
    run = flockwise.run(flockwise.fedavg(), clients, model=model, rounds=2, out=tmp_path / "run")
    told = CliRunner().invoke(app, ["confirm", str(run.path), "south", "2"])
    assert told.exit_code == 0 and "confirm: south (client 1), west (client 2), from" in told.output
    assert flockwise.resume(run.path, clients=clients, rounds=3).apart == [1, 2]
    wrong = CliRunner().invoke(app, ["release", str(run.path), "south", "est"])
    assert wrong.exit_code == 2 and "est: no client is called so; did you mean 'west'?" in wrong.output
    assert not list((run.path / "requests").glob("*.json"))
