"""A changed config, environment or record is noticed: refused to go on from, named to who only looks."""

import shutil
import sqlite3
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flockwise
from flockwise.errors import RunError
from flockwise.messages import Event
from flockwise.rng import generator
from flockwise.store import accept, create_run, open_run, reopen_run
from flockwise.store.policy import CheckpointPolicy
from tests.conftest import Cases
from tests.reliability.made import change, make
from tests.runs.small import FLIC

OLD = Path(__file__).parents[1] / "golden" / "runs"
CHANGES = {
    "about, the state": "UPDATE about SET value = 'stopped' WHERE key = 'state'",
    "about, the day": "UPDATE about SET value = '2020-01-01T00:00:00Z' WHERE key = 'created'",
    "about, a row more": "INSERT INTO about VALUES ('goal', '9')",
    "about, the format": "UPDATE about SET value = '0' WHERE key = 'format'",
    "about, the digest of the config": "DELETE FROM about WHERE key = 'config_digest'",
    "about, the seal": "DELETE FROM about WHERE key = 'seal'",
    "clients, a count": "UPDATE clients SET train = 11 WHERE client = 2",
    "clients, one less": "DELETE FROM clients WHERE client = 3",
    "rounds, the time": "UPDATE rounds SET seconds = 0.125 WHERE round = 2",
    "rounds, one less": "DELETE FROM rounds WHERE round = 2",
    "rounds, one more": "INSERT INTO rounds VALUES (6, 0.5, NULL, NULL)",
    "rounds, a digest": "UPDATE rounds SET digest = replace(digest, 'a', 'b') WHERE round = 5",
    "rounds, a checkpoint's name": "UPDATE rounds SET checkpoint = 'round-000004.safetensors' WHERE round = 5",
    "facts, a value": "UPDATE facts SET value = 0.30000000000000004 WHERE round = 3 AND name = 'accuracy'",
    "facts, a name": "UPDATE facts SET name = 'accuracx' WHERE round = 3 AND name = 'accuracy'",
    "facts, one less": "DELETE FROM facts WHERE round = 3 AND name = 'flocks'",
    "facts, one more": "INSERT INTO facts VALUES (3, 'purity', 1.0)",
    "facts, of no round": "INSERT INTO facts VALUES (99, 'purity', 1.0)",
    "arrays, the data": "UPDATE arrays SET data = zeroblob(length(data)) WHERE round = 4 AND name = 'flock'",
    "arrays, the dtype": "UPDATE arrays SET dtype = '<u8' WHERE round = 4 AND name = 'flock'",
    "arrays, the shape": "UPDATE arrays SET shape = '[2, 2]' WHERE round = 4 AND name = 'flock'",
    "arrays, one less": "DELETE FROM arrays WHERE round = 4 AND name = 'flock'",
    "events, a message": "UPDATE events SET message = 'nothing' WHERE round = 1",
    "events, a client": "UPDATE events SET client = 3 WHERE round = 1",
    "events, a detail": "UPDATE events SET detail = '{}' WHERE round = 1",
    "events, another round": "UPDATE events SET round = 2 WHERE round = 1",
    "events, one more": "INSERT INTO events (round, kind, message, detail) VALUES (1, 'x', 'y', '{}')",
    "seals, one less": "DELETE FROM seals WHERE round = 2",
    "seals, all gone": "DELETE FROM seals",
    "seals, another digest": "UPDATE seals SET seal = replace(seal, 'a', 'b') WHERE round = 2",
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("whole") / "run")


@pytest.fixture
def run(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "run"))


def noticed(path: Path, name: str) -> None:
    """It is refused to go on from in one line that names what is damaged, and still opens to look."""
    with pytest.raises(RunError) as caught:
        reopen_run(path, CheckpointPolicy()).close()
    assert name in str(caught.value) and "\n" not in str(caught.value)
    found = open_run(path).damage
    assert found and any(name in line for line in found)


def test_a_whole_run_has_no_damage(run: Path) -> None:
    assert open_run(run).damage == []
    with reopen_run(run, CheckpointPolicy(every=1)) as writer:
        assert open_run(run).damage == []
        writer.commit(6, 0.5, {"accuracy": 0.6}, {}, [], {"round": np.array([6])})
        writer.events(6, [Event("x", "after the round")])
        writer.events(3, [Event("x", "long after the round")])
        assert open_run(run).damage == []
        writer.add_events(6, [Event("stopped", "why")], lambda: {"round": np.array([6])})
        writer.forget_after(4)
        writer.events(7, [Event("x", "of a round that failed")])
    assert open_run(run).damage == []


@pytest.mark.parametrize("name", ["config.toml", "environment.json"])
def test_a_bit_flipped_anywhere_in_a_file_is_noticed(run: Path, name: str, cases: Cases) -> None:
    whole = (run / name).read_bytes()
    cases.count(len(whole))
    for position in range(len(whole)):
        damaged = bytearray(whole)
        damaged[position] ^= 1 << (position % 8)
        (run / name).write_bytes(bytes(damaged))
        assert any(name in line for line in open_run(run).damage)
    noticed(run, name)


@pytest.mark.parametrize("name", ["config.toml", "environment.json"])
def test_a_file_cut_at_any_length_is_noticed(run: Path, name: str, cases: Cases) -> None:
    whole = (run / name).read_bytes()
    cases.count(len(whole))
    for length in range(len(whole)):
        (run / name).write_bytes(whole[:length])
        assert any(name in line for line in open_run(run).damage)
    noticed(run, name)


def test_an_environment_that_is_gone_is_noticed(run: Path) -> None:
    (run / "environment.json").unlink()
    noticed(run, "environment.json")


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_in_the_database_is_noticed(run: Path, what: str) -> None:
    change(run, CHANGES[what])
    noticed(run, "run.sqlite")


def test_rounds_that_changed_places_are_noticed(run: Path) -> None:
    change(run, *(f"UPDATE {table} SET round = CASE round WHEN 2 THEN -3 WHEN 3 THEN -2 ELSE round END"
                  for table in ("rounds", "facts", "arrays", "events", "seals")),
           *(f"UPDATE {table} SET round = -round WHERE round < 0"
             for table in ("rounds", "facts", "arrays", "events", "seals")))  # fmt: skip
    noticed(run, "run.sqlite")


def test_rounds_taken_from_the_end_are_noticed(run: Path) -> None:
    change(
        run,
        *(
            f"DELETE FROM {table} WHERE round > 3"
            for table in ("rounds", "facts", "arrays", "events", "seals")
        ),
    )
    noticed(run, "run.sqlite")


def test_the_round_that_is_damaged_is_named_and_no_other(run: Path) -> None:
    change(run, "UPDATE facts SET value = 9 WHERE round = 3")
    (line,) = open_run(run).damage
    assert "round 3" in line
    assert open_run(run).facts["accuracy"].tolist() == [0.1, 0.2, 9.0, 0.4, 0.5], "what is there is shown"


def views(path: Path) -> Any:
    """Everything that is shown of a run and everything it would go on from."""
    run = open_run(path)
    arrays = [run.array(name) for name in ("flock", "accuracy")]
    at = [run.array_at(name, round) for name in ("flock", "accuracy") for round in range(7)]
    told = [(e.round, e.kind, e.client, e.message, e.detail) for e in run.events]
    facts = {name: values.tolist() for name, values in run.facts.items()}
    newest = run.newest_checkpoint()
    kept = [None if one is None else one.tolist() for one in at]
    return (facts, run.rounds.tolist(), run.seconds.tolist(), run.clients, run.about, run.goal, told,
            [(rounds.tolist(), values.tolist()) for rounds, values in arrays], kept, run.checkpoints,
            newest.round, {name: array.tolist() for name, array in newest.arrays.items()})  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_bits_flipped_in_the_database_are_noticed_or_harmless(run: Path, seed: int, cases: Cases) -> None:
    clean, rng = views(run), generator(seed, "flips")
    whole = (run / "run.sqlite").read_bytes()
    silent, seen = [], 0
    for position in rng.choice(len(whole), size=cases.many(130, len(whole)), replace=False).tolist():
        damaged = bytearray(whole)
        damaged[position] ^= 1 << int(rng.integers(8))
        (run / "run.sqlite").write_bytes(bytes(damaged))
        try:
            found = open_run(run)
            noted = bool(found.damage)
            seen += noted
            if not noted and views(run) != clean:
                silent.append(position)
        except RunError:
            seen += 1
    assert not silent
    assert seen > 5


def test_resume_and_fork_refuse_what_is_damaged_before_they_touch_it(tmp_path: Path) -> None:
    path = tmp_path / "run"
    flockwise.run(FLIC, out=path)
    change(path, "UPDATE facts SET value = 0.5 WHERE round = 3 AND name = 'accuracy'")
    before = (path / "run.sqlite").read_bytes()
    with pytest.raises(RunError, match=r"run\.sqlite: .*round 3"):
        flockwise.resume(path, rounds=9)
    with pytest.raises(RunError, match=r"run\.sqlite: .*round 3"):
        flockwise.fork(path, 7, ["rounds=9"], out=tmp_path / "fork")
    assert (path / "run.sqlite").read_bytes() == before and not (tmp_path / "fork").exists()


def test_a_cut_config_does_not_resume_as_another_method(tmp_path: Path) -> None:
    path = tmp_path / "run"
    flockwise.run(FLIC, out=path, stop=lambda: True)
    lines = (path / "config.toml").read_text().splitlines(keepends=True)
    (path / "config.toml").write_text("".join(lines[: lines.index("[data]\n")]))
    with pytest.raises(RunError, match=r"config\.toml"):
        flockwise.resume(path)


def test_damage_can_be_accepted_and_is_on_record_then(run: Path) -> None:
    text = (run / "config.toml").read_text()
    (run / "config.toml").write_text(text.replace("epochs = 1", "epochs = 2"))
    accept(run)
    found = open_run(run)
    assert found.damage == [] and found.config["training"]["epochs"] == 2
    assert [("config.toml" in event.message) for event in found.events if event.kind == "damaged"] == [True]
    reopen_run(run, CheckpointPolicy()).close()


def test_a_run_of_the_older_format_is_not_damaged_and_gets_digests_when_it_goes_on(tmp_path: Path) -> None:
    path = Path(shutil.copytree(OLD / "0.1-stopped", tmp_path / "old"))
    assert open_run(path).damage == []
    flockwise.resume(path)
    assert open_run(path).damage == [] and "seal" in open_run(path).about
    change(path, "UPDATE facts SET value = 9 WHERE round = 2")
    noticed(path, "run.sqlite")


def test_what_a_run_left_that_was_never_made_is_forgotten(run: Path) -> None:
    (run / "config.toml").unlink()
    make(run, rounds=2)
    found = open_run(run)
    assert found.rounds.tolist() == [1, 2] and len(found.events) == 2 and found.damage == []


def test_looking_for_damage_in_a_long_run_takes_well_under_a_second(tmp_path: Path) -> None:
    rounds, clients, rng = 1000, 100, generator(0, "long")
    with create_run(tmp_path / "run", {"rounds": rounds}, {}, CheckpointPolicy(every=10**9)) as writer:
        names = ("flock", "apart", "trained", "loss", "accuracy", "test_loss")
        for round in range(1, rounds + 1):
            arrays = {name: rng.random(clients, dtype=np.float32) for name in names}
            if round % 10 == 0:
                arrays["similarity"] = rng.random((clients, clients)).astype(np.float16)
            events = [Event("dropout", "did not answer", client, {}) for client in range(5)]
            writer.commit(round, 0.1, {f"fact {i}": rng.random() for i in range(16)}, arrays, events, dict)
    started = time.process_time()  # of the processor: others may keep it busy
    assert open_run(tmp_path / "run").damage == []
    assert time.process_time() - started < 1.0  # 0.1 s on an idle machine


def test_a_run_that_is_being_written_is_never_taken_for_damaged(run: Path) -> None:
    import threading

    done = threading.Event()

    def write() -> None:
        with reopen_run(run, CheckpointPolicy(every=10**9)) as writer:
            for round in range(6, 200):
                writer.commit(round, 0.1, {"accuracy": 0.5}, {"flock": np.arange(4)}, [Event("x", "y")], dict)
        done.set()

    thread = threading.Thread(target=write)
    thread.start()
    looks = 0
    while not done.is_set():
        assert open_run(run).damage == []
        looks += 1
    thread.join()
    assert looks > 0 and open_run(run).damage == []


def test_the_database_is_left_as_it_was_by_who_looks(run: Path) -> None:
    before = (run / "run.sqlite").read_bytes()
    assert open_run(run).damage == []
    assert (run / "run.sqlite").read_bytes() == before
    sqlite3.connect(run / "run.sqlite").close()
