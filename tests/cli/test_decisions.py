"""Releasing, confirming and setting apart from the command line."""

from pathlib import Path

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
