"""One client that never answers costs one deadline, and is asked seldom after that."""

import pytest

pytest.importorskip("flwr", reason="needs flockwise[flower]")

from flockwise.errors import InputError
from flockwise.flower import Flocks
from flockwise.flower.exchange import Exchange
from flockwise.flower.pace import Pace
from flockwise.store import open_run

from . import client_apps as apps
from .fake_grid import FakeGrid, FakeNode

STUCK = 5
TIMEOUT = 3600.0


class SlowGrid(FakeGrid):
    """Answers take their time, by the grid's own clock."""

    def __post_init__(self):
        super().__post_init__()
        self.takes = {node.node_id: 10.0 for node in self.nodes}
        self.due = {}

    def push_messages(self, messages):
        messages = list(messages)
        ids = super().push_messages(messages)
        for message in messages:
            self.due[message.metadata.message_id] = self.now + self.takes[message.metadata.dst_node_id]
        return ids

    def pull_messages(self, message_ids):
        return super().pull_messages([i for i in message_ids if self.due[i] <= self.now])


@pytest.fixture(autouse=True)
def fast_clock(monkeypatch):
    original = Exchange.__init__
    monkeypatch.setattr(
        Exchange, "__init__", lambda self, grid: original(self, grid, clock=grid.clock, sleep=grid.sleep)
    )


@pytest.fixture
def grid():
    return SlowGrid([FakeNode(p, apps.numpy_app, name=f"site-{p}") for p in range(6)])


def run(grid, path, rounds, **choices):
    """How long each round took, by the grid's clock."""
    ends = []
    flocks = Flocks("fedavg", clients=6, run=path, **choices)
    flocks.start(
        grid, apps.numpy_start(), num_rounds=rounds, timeout=TIMEOUT, evaluate_fn=lambda r, a: ends.append(grid.now)
    )  # fmt: skip
    return [end - start for start, end in zip([0.0, *ends], ends, strict=False)], open_run(path)


def told(record, client=STUCK):
    kinds = ("late", "silent", "asked again", "heard")
    return [(e.round, e.kind) for e in record.events if e.client == client and e.kind in kinds]


def test_a_stuck_client_costs_one_deadline_and_rounds_then_take_what_the_others_take(grid, tmp_path):
    grid.nodes[STUCK].fault = lambda message, reply: None
    seconds, record = run(grid, tmp_path / "run", 14)
    # Training and evaluating take 10 s each; while nothing is usual yet, the last ones have nine times as long.
    assert seconds[0] == pytest.approx(90 + 10, abs=2)
    assert seconds[1] == pytest.approx(20, abs=2)
    asked = [number for number, took in enumerate(seconds, start=1) if took > 25]
    assert asked == [1, 3, 7] and all(seconds[number - 1] == pytest.approx(40, abs=2) for number in asked[1:])
    assert told(record) == [
        (1, "late"), (1, "silent"), (3, "asked again"), (3, "late"), (3, "silent"), (7, "asked again"), (7, "late"),
        (7, "silent"),
    ]  # fmt: skip
    assert record.array("trained")[1].sum(axis=1).tolist() == [5] * 14
    messages = [e.message for e in record.events if e.kind in ("silent", "asked again")]
    assert messages[:3] == [
        "did not answer; asked again in 2 rounds", "was silent once",
        "did not answer, 2 times in a row; asked again in 4 rounds",
    ]  # fmt: skip


def test_a_client_that_answers_is_back_at_once(grid, tmp_path):
    grid.nodes[STUCK].fault = lambda m, r: None if int(m.metadata.group_id) < 3 else [r]
    _, record = run(grid, tmp_path / "run", 6)
    assert record.array("trained")[1][:, STUCK].tolist() == [False, False, True, True, True, True]
    assert told(record) == [(1, "late"), (1, "silent"), (3, "asked again"), (3, "heard")]


def test_who_is_only_somewhat_slower_is_waited_for(grid, tmp_path):
    grid.takes[grid.nodes[STUCK].node_id] = 25.0
    seconds, record = run(grid, tmp_path / "run", 3)
    assert record.array("trained")[1].all() and told(record) == []
    assert all(took == pytest.approx(50, abs=2) for took in seconds)


def test_without_a_quorum_the_others_have_until_the_timeout(grid, tmp_path):
    for node in grid.nodes[2:]:
        node.fault = lambda message, reply: None
    seconds, _ = run(grid, tmp_path / "run", 2, evaluate_every=0)
    assert seconds[0] == pytest.approx(TIMEOUT, abs=2)
    assert seconds[1] == pytest.approx(10, abs=2)


def test_who_is_waited_for_by_all_is_waited_for_until_the_timeout(grid, tmp_path):
    grid.nodes[STUCK].fault = lambda message, reply: None
    seconds, _ = run(grid, tmp_path / "run", 2, evaluate_every=0, quorum=1.0)
    assert seconds == pytest.approx([TIMEOUT, 10], abs=2)


def test_clients_that_failed_do_not_keep_the_others_from_a_quorum(grid, tmp_path):
    from flwr.app import Error, Message

    for node in grid.nodes[:3]:
        node.fault = lambda m, r: [Message(Error(code=3, reason="broken"), reply_to=m)]
    grid.nodes[STUCK].fault = lambda message, reply: None
    seconds, _ = run(grid, tmp_path / "run", 1, evaluate_every=0)
    assert seconds[0] == pytest.approx(90, abs=2)


def test_when_all_are_silent_all_are_asked_again(grid, tmp_path):
    tries = []

    def third_time(message, reply):
        tries.append(message)
        return None if len(tries) <= 12 else [reply]

    for node in grid.nodes:
        node.fault = third_time
    _, record = run(grid, tmp_path / "run", 2, evaluate_every=0)
    assert record.array("trained")[1].all() and record.state == "finished"


def test_a_client_whose_node_comes_back_is_asked_at_once(grid, tmp_path):
    stuck = grid.nodes[STUCK]

    def restart(message, reply):  # by its operator, in round 2, while it is not asked
        stuck.online = message.metadata.group_id != "1"
        return [reply]

    grid.nodes[0].fault = restart
    stuck.fault = lambda m, r: None if m.metadata.group_id == "1" else [r]
    _, record = run(grid, tmp_path / "run", 4, evaluate_every=0)
    assert record.array("trained")[1][:, STUCK].tolist() == [False, False, True, True]


def test_nobody_is_given_less_than_some_seconds_however_quick_the_others_are():
    pace = Pace(quorum=0.5)
    pace.note("train", [0.01] * 9)
    assert not pace.enough("train", 4, [0.01] * 3, 4.9) and pace.enough("train", 4, [0.01] * 3, 5.0)
    assert not pace.enough("train", 4, [0.01], 100.0)


def test_the_silent_are_asked_at_least_every_sixteenth_round():
    pace = Pace()
    rests = [pace.missed(3).message.split()[-2] for _ in range(7)]
    assert rests == ["2", "4", "8", "16", "16", "16", "16"]


@pytest.mark.parametrize("wrong", [{"quorum": 0}, {"quorum": 1.5}, {"quorum": "half"}, {"patience": 0.5}])
def test_a_quorum_or_patience_that_makes_no_sense_is_refused(wrong, tmp_path):
    with pytest.raises(InputError, match=f"{next(iter(wrong))} = "):
        Flocks("fedavg", clients=3, run=tmp_path, **wrong)
