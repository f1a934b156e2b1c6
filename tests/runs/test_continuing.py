"""Month after month: a run that starts from the flocks of another, with new data, newcomers and clients that left."""

import hashlib
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from click.testing import CliRunner

import flockwise as fw
from flockwise.cli.app import app
from flockwise.dashboard.watching import Watch
from flockwise.errors import ConfigError, InputError, RunError
from flockwise.report import describe_run
from flockwise.strategies import STRATEGIES
from tests.runs.small import fingerprint

KINDS = np.random.default_rng(7).normal(size=(2, 8))
NAMES = [f"hospital {letter}" for letter in "ABCDEFGHIJ"]  # every other one is of the second kind


def month(seed: int, kinds: dict[str, int]) -> fw.Federation:
    """Clients of two kinds that want opposite things."""
    rng, clients = np.random.default_rng(seed), {}
    for name, kind in kinds.items():
        x = rng.normal(size=(160, 8)).astype(np.float32)
        y = (x @ KINDS[0] > 0).astype(int) ^ kind
        clients[name] = ((x[:120], y[:120]), (x[120:], y[120:]))
    return fw.Federation.from_arrays(clients)


JANUARY = {name: place % 2 for place, name in enumerate(NAMES)}
# A left, B's patients are now of the first kind, K is new.
FEBRUARY = {
    **{name: kind for name, kind in JANUARY.items() if name != NAMES[0]},
    NAMES[1]: 0,
    "hospital K": 1,
}
NET = torch.nn.Sequential(torch.nn.Linear(8, 2))


def options(**more: Any) -> dict[str, Any]:
    return {"model": NET, **more}


@pytest.fixture(scope="module")
def january(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = fw.run(
        fw.flic(warmup=4), month(1, JANUARY), training=fw.SGD(learning_rate=0.2), rounds=6,
        out=tmp_path_factory.mktemp("months") / "january", **options(),
    )  # fmt: skip
    assert len(run.flocks) == 2
    return run.path


@pytest.fixture(scope="module")
def february(january: Path) -> fw.Run:
    return fw.continue_run(january, month(2, FEBRUARY), more=4, out=january.parent / "february", **options())


def content(folder: Path) -> str:
    mark = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "lock"):
        mark.update(file.name.encode() + file.read_bytes())
    return mark.hexdigest()


def flock_of(run: fw.Run, name: str, row: int = -1) -> int:
    number = [client["name"] for client in run.clients].index(name)
    return int(run.array("flock")[1][row][number])


def test_rounds_are_counted_on_and_the_first_is_the_old_models_on_the_new_data(february: fw.Run) -> None:
    assert february.rounds.tolist() == [6, 7, 8, 9, 10] and february.state == "finished"
    assert february.facts["participants"].tolist() == [0, 10, 10, 10, 10]
    assert february.facts["accuracy"][0] > 0.85  # they know the task already
    assert february.facts["accuracy"][-1] >= february.facts["accuracy"][0] - 0.02


def test_known_clients_keep_their_flock_newcomers_find_theirs_and_drifted_ones_move(
    january: Path, february: fw.Run
) -> None:
    before = fw.open_run(january)
    first, second = flock_of(before, NAMES[2]), flock_of(before, NAMES[3])
    assert {first, second} == {0, 1}
    for name, kind in FEBRUARY.items():
        assert flock_of(february, name, row=0) == (first, second)[kind], name
    told = {event.kind: event for event in february.events if event.round == 6}
    assert told["continued"].message.endswith("9 clients of before, 1 new, 1 gone")
    assert told["continued"].detail == {"new": ["hospital K"], "gone": [NAMES[0]]}
    names = [client["name"] for client in february.clients]
    assert names[told["joined"].client] == names[told["placed"].client] == "hospital K"
    assert names[told["moved"].client] == NAMES[1]


def test_what_drifted_moves_under_the_method_that_is_written_by_default(tmp_path: Path) -> None:
    first = fw.run(
        fw.shepherd(), month(1, JANUARY), training=fw.SGD(learning_rate=0.2), rounds=8, out=tmp_path / "january", **options()
    )  # fmt: skip
    assert len(first.flocks) == 2 and flock_of(first, NAMES[0]) != flock_of(first, NAMES[1])
    second = fw.continue_run(first.path, month(2, FEBRUARY), more=4, out=tmp_path / "february", **options())
    kinds = [flock_of(first, NAMES[2]), flock_of(first, NAMES[3])]
    for row in (0, -1):  # at once, and still after training
        assert {name: flock_of(second, name, row) for name in FEBRUARY} == {
            name: kinds[kind] for name, kind in FEBRUARY.items()
        }
    assert NAMES[1] in [
        second.clients[event.client]["name"] for event in second.events if event.kind == "moved"
    ]


def test_the_run_before_is_only_read(january: Path, tmp_path: Path) -> None:
    before = content(january)
    fw.continue_run(january, month(3, FEBRUARY), more=2, out=tmp_path / "march", **options())
    assert content(january) == before


def test_history_is_linked_and_shown(january: Path, february: fw.Run) -> None:
    assert february.environment["parent"] == str(january) and february.environment["continued_at"] == 6
    shown = CliRunner().invoke(app, ["show", str(february.path)]).output
    listed = CliRunner().invoke(app, ["runs", str(january.parent)]).output.splitlines()
    assert listed[0].split()[-1] == "parent" and any(line.endswith("january, round 6") for line in listed)
    lines = {each["id"]: each["parent"] for each in Watch(january.parent).summaries()}
    assert lines["february"] == "january, round 6" and lines["january"] == ""
    assert f"parent      {january} (from round 6)" in shown
    assert (
        "It goes on from january, round 6. Flocks from the first round on."
        in describe_run(february)["headline"]["story"]
    )


def test_a_continuation_that_is_stopped_resumes_to_the_same_bits(january: Path, tmp_path: Path) -> None:
    whole = fw.continue_run(january, month(2, FEBRUARY), more=4, out=tmp_path / "whole", **options())
    seen: list[int] = []
    stopped = fw.continue_run(
        january, month(2, FEBRUARY), more=4, out=tmp_path / "stopped", on_round=lambda p: seen.append(p.round),
        stop=lambda: len(seen) >= 1, **options(),
    )  # fmt: skip
    assert stopped.state == "stopped" and stopped.rounds.tolist()[0] == 6
    fw.resume(tmp_path / "stopped", clients=month(2, FEBRUARY), **options())
    assert fingerprint(tmp_path / "stopped") == fingerprint(whole.path)


def test_a_continuation_of_a_continuation_goes_on(february: fw.Run, tmp_path: Path) -> None:
    march = fw.continue_run(february.path, month(3, JANUARY), out=tmp_path / "march", **options())
    assert march.rounds.tolist() == [10, 11, 12, 13, 14]  # as many as February had
    kinds = [flock_of(march, name) for name in NAMES]
    assert kinds == [kinds[0], kinds[1]] * 5 and kinds[0] != kinds[1]


def test_clients_without_names_are_known_by_their_number(tmp_path: Path) -> None:
    config = {
        "rounds": 3, "seed": 1, "split": {"name": "label_swap", "clients": 6, "groups": 2},
        "strategy": {"name": "flic", "warmup": 2, "min_separation": 0.0}, "training": {"learning_rate": 0.2},
    }  # fmt: skip
    fw.run(config, out=tmp_path / "one")
    more = fw.continue_run(tmp_path / "one", more=2, overrides=["split.clients=8"], out=tmp_path / "two")
    assert len(more.clients) == 8 and more.rounds.tolist() == [3, 4, 5]
    assert [e.client for e in more.events if e.kind == "joined"] == [6, 7]


def test_all_clients_may_be_new_to_the_flocks(january: Path, tmp_path: Path) -> None:
    strangers = {f"practice {number}": number % 2 for number in range(4)}
    with pytest.raises(
        RunError, match=r"none of its clients is here: it has 'hospital A', .* match = 'nobody'"
    ):
        fw.continue_run(january, month(4, strangers), out=tmp_path / "x", **options())
    run = fw.continue_run(
        january, month(4, strangers), more=1, match="nobody", out=tmp_path / "y", **options()
    )
    flocks = run.array("flock")[1][0].tolist()
    assert flocks == [flocks[0], flocks[1]] * 2 and flocks[0] != flocks[1]


def test_without_follow_known_clients_stay_where_they_were(january: Path, tmp_path: Path) -> None:
    run = fw.continue_run(january, month(2, FEBRUARY), more=1, follow=None, out=tmp_path / "run", **options())
    assert flock_of(run, NAMES[1], 0) == flock_of(fw.open_run(january), NAMES[1])
    assert flock_of(run, "hospital K", 0) != -1  # newcomers are placed all the same


def test_a_decision_that_still_waits_is_carried_out_next_month(january: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(january, tmp_path / "january")
    for name in ("hospital D", "hospital A"):  # A is gone next month
        assert CliRunner().invoke(app, ["quarantine", str(copy), name]).exit_code == 0
    run = fw.continue_run(copy, month(2, FEBRUARY), more=1, out=tmp_path / "february", **options())
    assert [run.clients[number]["name"] for number in run.apart] == ["hospital D"]
    assert [(e.round, e.message) for e in run.events if e.kind == "quarantine"] == [
        (7, "quarantine by a person")
    ]


def test_clients_set_apart_stay_apart(january: Path, tmp_path: Path) -> None:
    from flockwise.store.requests import file_request

    first = fw.continue_run(january, month(2, FEBRUARY), more=1, out=tmp_path / "one", **options())
    file_request(first.path, {"action": "confirm", "client": 3})
    fw.resume(first.path, clients=month(2, FEBRUARY), rounds=8, **options())
    name = first.clients[3]["name"]
    later = {
        other: kind for other, kind in FEBRUARY.items() if other != NAMES[1]
    }  # its number is another now
    second = fw.continue_run(first.path, month(5, later), more=1, out=tmp_path / "two", **options())
    assert [row["name"] for row in second.summary if row["state"] == "set apart for good"] == [name]


def test_who_was_set_apart_by_a_person_and_skips_a_month_does_not_come_back_free(
    january: Path, tmp_path: Path
) -> None:
    copy = shutil.copytree(january, tmp_path / "january")
    for action, name in (("confirm", "hospital D"), ("quarantine", "hospital E"), ("confirm", "hospital F")):
        assert CliRunner().invoke(app, [action, str(copy), name]).exit_code == 0
    first = fw.resume(
        copy, clients=month(1, JANUARY), rounds=7, **options()
    )  # D, E and F are apart on record
    for action, name in (("release", "hospital F"), ("confirm", "hospital G")):  # these still wait
        assert CliRunner().invoke(app, [action, str(copy), name]).exit_code == 0
    some = {name: kind for name, kind in JANUARY.items() if name[-1] not in "DEFG"}
    second = fw.continue_run(first.path, month(2, some), more=1, out=tmp_path / "february", **options())
    third = fw.continue_run(second.path, month(3, some), more=1, out=tmp_path / "march", **options())
    fourth = fw.continue_run(third.path, month(4, JANUARY), more=1, out=tmp_path / "april", **options())
    states = {row["name"]: row["state"] for row in fourth.summary if row["state"] != "takes part"}
    assert states == {
        "hospital D": "set apart for good", "hospital E": "set apart", "hospital G": "set apart for good",
    }  # fmt: skip
    told = [(e.client, e.message) for e in fourth.events if e.kind == "confirmed"]
    assert told == [(client, "was confirmed before it was away, and still is") for client in (3, 6)]
    assert fourth.array("trained")[1][-1].tolist() == [name[-1] not in "DEG" for name in NAMES]


@pytest.mark.parametrize(
    ("arguments", "error", "told"),
    [
        ({"match": "smell"}, InputError, "match = 'smell': must be name, number or nobody"),
        ({"more": 0}, ConfigError, "more = 0: must be at least 1"),
        ({"more": 3, "overrides": ["rounds=9"]}, ConfigError, "more = 3: cannot go with rounds=9"),
        ({"overrides": ["rounds=6"]}, ConfigError, "rounds = 6: must be above 6"),
        ({"at": 9}, RunError, "no checkpoint of round 9"),  # others may be kept or not, by the time they took
    ],
)
def test_mistakes_are_one_line(
    arguments: dict[str, Any], error: type[Exception], told: str, january: Path, tmp_path: Path
) -> None:
    with pytest.raises(error, match=told):
        fw.continue_run(january, month(2, FEBRUARY), out=tmp_path / "run", **options(**arguments))
    assert not (tmp_path / "run").exists()


def test_data_that_the_models_were_not_made_for_is_refused(january: Path, tmp_path: Path) -> None:
    wide = fw.Federation.from_arrays({NAMES[0]: (np.zeros((20, 9)), np.arange(20) % 2)})
    with pytest.raises(InputError, match="the shape of a sample must be 8, as in january, not 9"):
        fw.continue_run(january, wide, out=tmp_path / "run", model=torch.nn.Linear(9, 2))
    with pytest.raises(InputError, match="model: this run's model was given in Python"):
        fw.continue_run(january, month(2, FEBRUARY), out=tmp_path / "run")


def test_clients_from_python_may_lack_a_class_for_a_month(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)

    def clients(*names: str) -> fw.Federation:
        x = rng.normal(size=(60, 2)).astype(np.float32)
        y = np.array(names)[np.arange(60) % len(names)]
        return fw.Federation.from_arrays({"north": (x, y), "south": (x + 1, y)})

    first = fw.run(
        fw.fedavg(), clients("ill", "rare", "well"), model=fw.models.softmax, rounds=1, out=tmp_path / "one"
    )
    later = clients("ill", "well")
    second = fw.continue_run(first.path, later, model=fw.models.softmax, more=1, out=tmp_path / "two")
    assert second.environment["samples"]["class_names"] == ["ill", "rare", "well"]
    fw.resume(second.path, clients=later, model=fw.models.softmax, rounds=3)
    with pytest.raises(InputError, match="the labels must be ill, rare, well, as in one, not dead, ill"):
        fw.continue_run(first.path, clients("dead", "ill"), model=fw.models.softmax, out=tmp_path / "three")


def test_a_continuation_killed_before_it_began_cannot_be_resumed(
    january: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from flockwise.runs import continuing

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(continuing, "begin", killed)
    with pytest.raises(KeyboardInterrupt):
        fw.continue_run(january, month(2, FEBRUARY), out=tmp_path / "run", **options())
    with pytest.raises(RunError, match="was stopped while it was being made from another run"):
        fw.resume(tmp_path / "run", clients=month(2, FEBRUARY), **options())


def test_own_heads_stay_with_their_clients(tmp_path: Path) -> None:
    net = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    first = fw.run(fw.fedavg(), month(1, JANUARY), model=net, travels=["0.*"], rounds=2, out=tmp_path / "one")
    second = fw.continue_run(first.path, month(2, FEBRUARY), more=1, model=net, out=tmp_path / "two")
    heads = fw.open_run(first.path).checkpoint()["clients/own"]
    start = second.checkpoint(2)["clients/own"] if 2 in second.checkpoints else None
    assert start is not None
    names = [client["name"] for client in first.clients]
    for number, client in enumerate(second.clients):
        if client["name"] in names:
            assert np.array_equal(start[number], heads[names.index(client["name"])])


@pytest.mark.parametrize("strategy", list(STRATEGIES))
def test_every_kind_of_method_goes_on(strategy: str, tmp_path: Path) -> None:
    config = {
        "rounds": 3, "seed": 1, "model": {"name": "mlp"}, "split": {"name": "label_swap", "clients": 6, "groups": 2},
        **{part: of for part, of in (STRATEGIES[strategy].start or {}).items() if part == "model"},
        "strategy": {"name": strategy, **dict(STRATEGIES[strategy].example or {})},
    }  # fmt: skip
    fw.run(config, out=tmp_path / "one")
    run = fw.continue_run(tmp_path / "one", more=2, overrides=["split.clients=7"], out=tmp_path / "two")
    assert run.state == "finished" and run.rounds.tolist() == [3, 4, 5]
    assert np.isfinite(run.facts["accuracy"]).all()
    fewer = fw.continue_run(tmp_path / "two", more=1, overrides=["split.clients=4"], out=tmp_path / "three")
    assert fewer.state == "finished" and not [e for e in fewer.events if e.kind == "forgotten"]
