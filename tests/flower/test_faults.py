"""Whatever one client does costs its own reply only, and is on record."""

import numpy as np
import pytest

pytest.importorskip("flwr", reason="needs flockwise[flower]")

from flwr.app import Array, ArrayRecord, Message, MetricRecord, RecordDict

from flockwise.errors import ConfigError, EngineError
from flockwise.flower import Flocks, StoppedEarly
from flockwise.flower.exchange import Exchange
from flockwise.store import open_run

from . import client_apps as apps
from .fake_grid import FakeGrid, FakeNode

GUILTY = 2


@pytest.fixture(autouse=True)
def fast_clock(monkeypatch):
    """Waiting costs no time: the grid's own clock moves when somebody sleeps."""
    original = Exchange.__init__

    def patched(self, grid, *args, **kwargs):
        original(self, grid, clock=grid.clock, sleep=grid.sleep)

    monkeypatch.setattr(Exchange, "__init__", patched)


def respond(message, arrays, samples=60, **metrics):
    content = RecordDict({"arrays": arrays, "metrics": MetricRecord({"num-examples": samples, **metrics})})
    return [Message(content, reply_to=message)]


def other_round(message, reply):
    reply.metadata.__dict__["_group_id"] = "1"
    return [reply]


def other_node(message, reply):
    reply.metadata.__dict__["_src_node_id"] = 1000
    return [reply]


def with_array(array):
    return lambda message, reply: respond(message, ArrayRecord({"0": array, "1": Array(np.zeros(3))}))


def good(value=0.0):
    return np.full((apps.FEATURES, apps.CLASSES), value)


def bomb():
    """A few bytes that claim to be a terabyte."""
    data = Array(good()).data.replace(b"(5, 3), }" + b" " * 12, b"(500000000000, 3), } ")
    return Array("float64", (5, 3), "numpy.ndarray", data)


FAULTS = {
    "never answers": (lambda message, reply: None, "late", "no answer"),
    "answers twice": (lambda message, reply: [reply, reply], "rejected", "twice"),
    "answers an old round": (other_round, "rejected", "answers round 1"),
    "answers for another": (other_node, "rejected", "another node"),
    "cannot be unpacked": (lambda message, reply: [ValueError("broken")], "rejected", "unpacked"),
    "raises an error": (lambda message, reply: [Message(_error(), reply_to=message)], "dropout", "out of memory"),
    "wrong shape": (with_array(Array(np.zeros((2, 2)))), "rejected", "shape"),
    "whole numbers": (with_array(Array(good().astype(np.int32))), "rejected", "dtype int32, not floating point"),
    "extra arrays": (
        lambda m, r: respond(m, ArrayRecord([good(), np.zeros(3), np.zeros(1 << 18)])), "rejected", "takes 2097",
    ),
    "NaN": (with_array(Array(good(np.nan))), "rejected", "NaN"),
    "infinite in float32": (with_array(Array(good(1e300))), "rejected", "NaN or infinite"),
    "huge norm": (with_array(Array(good(1e6))), "rejected", "norm"),
    "text for numbers": (with_array(Array(np.full((5, 3), "x"))), "rejected", "dtype"),
    "pickle": (with_array(Array("object", (5, 3), "numpy.ndarray", b"\x80\x04garbage")), "rejected", "NumPy"),
    "other serialisation": (with_array(Array("float64", (5, 3), "pickle", b"x")), "rejected", "serialised"),
    "cut off": (with_array(Array("float64", (5, 3), "numpy.ndarray", Array(good()).data[:-8])), "rejected", "cut off"),
    "far too long": (with_array(Array("float64", (5, 3), "numpy.ndarray", bytes(99999))), "rejected", "bytes"),
    "false header": (with_array(bomb()), "rejected", "has shape (500000000000, 3)"),
    "no arrays": (lambda m, r: respond(m, ArrayRecord()), "rejected", "missing"),
    "no samples": (lambda m, r: respond(m, ArrayRecord([good(), np.zeros(3)]), samples=0), "rejected", "samples"),
    "absurd samples": (lambda m, r: respond(m, ArrayRecord([good(), np.zeros(3)]), 10**12), "rejected", "samples"),
    "samples as a list": (
        lambda m, r: [Message(RecordDict({"arrays": ArrayRecord([good(), np.zeros(3)]),
                                          "m": MetricRecord({"num-examples": [1, 2]})}), reply_to=m)],
        "rejected", "num-examples",
    ),
    "empty": (lambda m, r: [Message(RecordDict(), reply_to=m)], "rejected", "array records"),
}  # fmt: skip


def _error():
    from flwr.app import Error

    return Error(code=3, reason="Traceback ...\nRuntimeError: out of memory")


def run(path, fault=None, rounds=3, **choices):
    grid = FakeGrid([FakeNode(p, apps.numpy_app, name=f"site-{p}") for p in range(6)])
    if fault:
        grid.nodes[GUILTY].fault = lambda m, r: (
            fault(m, r) if m.metadata.message_type == "train" and m.metadata.group_id == "2" else [r]
        )
    flocks = Flocks("fedavg", clients=6, run=path, max_norm=1e4, evaluate_every=0, **choices)
    return flocks.start(grid, apps.numpy_start(), num_rounds=rounds, timeout=5)


def stopped(flocks, grid, rounds):
    """How far a run came that ends with an error."""
    with pytest.raises(StoppedEarly) as found:
        flocks.start(grid, apps.numpy_start(), num_rounds=rounds, timeout=5)
    assert str(found.value).startswith(found.value.result.state) and "everything is saved" in str(found.value)
    return found.value.result


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_costs_only_its_own_reply_and_is_on_record(name, tmp_path):
    fault, kind, words = FAULTS[name]
    result = run(tmp_path / "run", fault)
    assert result.state == "finished" and result.rounds == 3
    record = open_run(tmp_path / "run")
    told = [event for event in record.events if event.round == 2 and event.kind == kind]
    assert len(told) == 1 and told[0].client == GUILTY and words in told[0].message
    trained = record.array("trained")[1]
    lost = name != "answers twice"
    silent = name == "never answers"  # is not asked in the next round
    assert trained.sum(axis=1).tolist() == [6, 5 if lost else 6, 5 if silent else 6]
    assert trained[1, GUILTY] == (not lost)
    assert all(np.isfinite(a).all() for a in result.arrays.to_numpy_ndarrays())


def test_a_late_answer_is_noted_and_not_used(tmp_path):
    grid = FakeGrid([FakeNode(p, apps.numpy_app, name=f"site-{p}") for p in range(4)])
    kept = []

    def late(message, reply):
        if message.metadata.group_id == "1":
            kept.append(reply)
            return None
        return [reply]

    def deliver(message, reply):
        if message.metadata.group_id == "2":
            grid.waiting[kept[0].metadata.reply_to_message_id] = [kept[0]]
        return [reply]

    grid.nodes[1].fault, grid.nodes[0].fault = late, deliver
    Flocks("fedavg", clients=4, run=tmp_path / "run", evaluate_every=0).start(
        grid, apps.numpy_start(), num_rounds=3, timeout=5
    )
    late_events = [(e.round, e.client) for e in open_run(tmp_path / "run").events if e.kind == "late"]
    assert late_events == [(1, 1), (3, 1)]


def test_a_round_nobody_answers_is_tried_again_and_then_ends_the_run_with_everything_saved(tmp_path):
    grid = FakeGrid([FakeNode(p, apps.numpy_app) for p in range(3)])

    def go(dead_from):
        for node in grid.nodes:
            node.fault = lambda m, r: None if int(m.metadata.group_id) >= dead_from else [r]
        return Flocks("fedavg", clients=3, run=tmp_path / "run", retries=2, evaluate_every=0)

    result = stopped(go(dead_from=3), grid, rounds=5)
    assert result.rounds == 2 and "nobody answered, 3 times" in result.state
    record = open_run(tmp_path / "run")
    assert record.state == "stopped" and record.rounds.tolist() == [1, 2]
    kinds = [event.kind for event in record.events if event.round == 2]
    assert kinds.count("retry") == 2 and kinds.count("late") == 9 and kinds[-1] == "stopped"
    assert go(dead_from=99).start(grid, apps.numpy_start(), num_rounds=5, timeout=5).rounds == 5
    straight = run(tmp_path / "x", rounds=1)
    assert straight.rounds == 1


def test_rounds_of_which_nothing_is_let_in_end_the_run(tmp_path):
    grid = FakeGrid([FakeNode(p, apps.numpy_app) for p in range(3)])
    for node in grid.nodes:
        node.fault = lambda m, r: (
            with_array(Array(good(np.nan)))(m, r) if int(m.metadata.group_id) > 2 else [r]
        )
    flocks = Flocks("fedavg", clients=3, run=tmp_path / "run", retries=1, evaluate_every=0)
    result = stopped(flocks, grid, rounds=9)
    assert result.rounds == 4 and "no reply could be used, 2 rounds in a row" in result.state
    assert open_run(tmp_path / "run").state == "stopped"
    for node in grid.nodes:
        node.fault = None
    flocks = Flocks("fedavg", clients=3, run=tmp_path / "run", retries=1, evaluate_every=0)
    assert flocks.start(grid, apps.numpy_start(), num_rounds=9, timeout=5).state == "finished"


def test_a_run_that_nobody_it_knows_comes_back_to_says_so(tmp_path):
    known = FakeGrid([FakeNode(p, apps.numpy_app) for p in range(2)])
    Flocks("fedavg", clients=2, run=tmp_path / "run", evaluate_every=0).start(known, apps.numpy_start(), 1)
    strangers = FakeGrid([FakeNode(p, apps.numpy_app, key=b"new %d" % p) for p in range(2)])
    again = Flocks("fedavg", clients=2, run=tmp_path / "run", start_timeout=0.0)
    with pytest.raises(
        EngineError, match=r"only 0 of 1 clients came .* 2 nodes have keys this run does not know"
    ):
        again.start(strangers, apps.numpy_start(), 2)


def test_a_retry_that_is_answered_goes_on(tmp_path):
    grid = FakeGrid([FakeNode(p, apps.numpy_app) for p in range(3)])
    tries = []

    def first_try_fails(message, reply):
        tries.append(message.metadata.group_id)
        return None if tries.count("2") <= 3 and message.metadata.group_id == "2" else [reply]

    for node in grid.nodes:
        node.fault = first_try_fails
    result = Flocks("fedavg", clients=3, run=tmp_path / "run", evaluate_every=0).start(
        grid, apps.numpy_start(), num_rounds=3, timeout=5
    )
    assert result.rounds == 3
    assert [(e.round, e.kind) for e in open_run(tmp_path / "run").events if e.kind == "retry"] == [
        (2, "retry")
    ]


def test_clients_that_leave_are_not_waited_for_and_take_part_again_when_they_return(tmp_path):
    grid = FakeGrid([FakeNode(p, apps.numpy_app, name=f"site-{p}") for p in range(4)])

    def leave_and_return(message, reply):
        grid.nodes[3].online = message.metadata.group_id not in ("1", "2")
        return [reply]

    grid.nodes[0].fault = leave_and_return
    Flocks("flic", clients=4, warmup=9, run=tmp_path / "run", evaluate_every=0).start(
        grid, apps.numpy_start(), num_rounds=5, timeout=5
    )
    record = open_run(tmp_path / "run")
    assert record.array("trained")[1][:, 3].tolist() == [False, False, False, True, True]
    kinds = [(e.kind, e.client) for e in record.events if e.kind in ("left", "returned")]
    assert kinds == [("left", 3), ("returned", 3)]


def test_a_superlink_that_is_away_for_a_moment_costs_nothing(tmp_path):
    import httpx

    class Shaky(FakeGrid):
        def pull_messages(self, message_ids):
            self.pulls = getattr(self, "pulls", 0) + 1
            if 3 <= self.pulls <= 6:
                raise httpx.ConnectError("refused")
            return super().pull_messages(message_ids)

    grid = Shaky([FakeNode(p, apps.numpy_app) for p in range(3)])
    Flocks("fedavg", clients=3, run=tmp_path / "run", evaluate_every=0).start(
        grid, apps.numpy_start(), num_rounds=2, timeout=60
    )
    assert open_run(tmp_path / "run").array("trained")[1].all()


class Killed(BaseException):
    """The process is gone: nothing is cleaned up."""


def test_a_serverapp_that_dies_at_any_step_of_saving_goes_on_to_the_same_result(tmp_path, monkeypatch):
    from flockwise.store import files

    def go(path, dies_at=None):
        steps = []

        def step(name):
            steps.append(name)
            if len(steps) == dies_at:
                raise Killed

        monkeypatch.setattr(files, "step", step)
        grid = FakeGrid([FakeNode(p, apps.numpy_app, name=f"site-{p}") for p in range(4)])
        flocks = Flocks("flic", clients=4, fraction=0.5, warmup=2, run=path, evaluate_every=0)
        result = flocks.start(grid, apps.numpy_start(), num_rounds=3, timeout=5)
        return result, len(steps)

    whole, steps = go(tmp_path / "whole")
    assert steps > 20
    for dies_at in range(1, steps + 1, 3):
        path = tmp_path / str(dies_at)
        with pytest.raises(Killed):
            go(path, dies_at)
        again, _ = go(path)
        assert again.rounds == 3 and again.flock_of == whole.flock_of
        for one, other in zip(whole.models, again.models, strict=True):
            for a, b in zip(one.to_numpy_ndarrays(), other.to_numpy_ndarrays(), strict=True):
                np.testing.assert_array_equal(a, b)


def test_a_first_round_of_which_nothing_can_be_read_says_why(tmp_path):
    grid = FakeGrid([FakeNode(p, apps.numpy_app, name=f"site-{p}") for p in range(3)])
    for node in grid.nodes:
        node.fault = FAULTS["samples as a list"][0]
    flocks = Flocks("fedavg", clients=3, run=tmp_path / "run", retries=1, evaluate_every=0)
    result = stopped(flocks, grid, rounds=3)
    assert "3 answered, none of which could be used" in result.state and "num-examples" in result.state
    told = [event.kind for event in open_run(tmp_path / "run").events]
    assert told.count("rejected") == 6 and told[-1] == "stopped"


def test_what_a_server_app_cannot_have_is_refused_at_once(tmp_path):
    for choices in ({"aggregation": "fltrust"}, {"strategy": "flic", "judge": "root"}):
        with pytest.raises(
            ConfigError, match="needs clean data on the server, which a Flower app does not have"
        ):
            Flocks(clients=3, run=tmp_path / "run", **choices)


def test_a_run_whose_clients_are_all_away_says_so(tmp_path):
    grid = FakeGrid([FakeNode(p, apps.numpy_app) for p in range(2)])

    def leave(message, reply):
        for node in grid.nodes:
            node.online = False
        return [reply]

    grid.nodes[1].fault = leave
    flocks = Flocks("fedavg", clients=2, run=tmp_path / "run", retries=1, evaluate_every=0)
    result = stopped(flocks, grid, rounds=3)
    assert result.rounds == 1
    assert (
        result.state == "round 2: none of this run's clients is online (a node is known by its key), 2 times"
    )
    found = open_run(tmp_path / "run")
    assert found.state == "stopped" and found.about["error"] == result.state
    assert [event.kind for event in found.events].count("away") == 2


@pytest.mark.parametrize("retries", [0, 2])
def test_a_run_that_stops_early_quotes_the_first_clients_error(retries, tmp_path):
    grid = FakeGrid([FakeNode(p, apps.numpy_app, fault=FAULTS["raises an error"][0]) for p in range(3)])
    flocks = Flocks("fedavg", clients=3, run=tmp_path / "run", retries=retries, evaluate_every=0)
    result = stopped(flocks, grid, rounds=5)
    assert result.state == (
        "round 1: nobody answered (client 0: could not answer: RuntimeError: out of memory), "
        f"{retries + 1} times"
    )
    found = open_run(tmp_path / "run")
    assert found.state == "stopped" and found.about["error"] == result.state and not len(found.rounds)


def test_a_run_of_which_no_reply_was_ever_let_in_is_not_finished_however_often_it_is_started(tmp_path):
    for _ in range(2):
        grid = FakeGrid([FakeNode(p, apps.numpy_app, fault=FAULTS["NaN"][0]) for p in range(3)])
        flocks = Flocks("fedavg", clients=3, run=tmp_path / "run", retries=9, evaluate_every=0)
        result = stopped(flocks, grid, rounds=2)
        assert result.state.startswith("no reply could be used in any round: ")
        assert "(client 0): reply rejected: update holds NaN" in result.state
        found = open_run(tmp_path / "run")
        assert found.state == "failed" and found.about["error"] == result.state


def test_numbers_given_to_newcomers_are_on_record_before_their_round_is(tmp_path, monkeypatch):
    from flockwise.store import files

    grid = FakeGrid([FakeNode(p, apps.numpy_app, name=f"site-{p}") for p in range(3)])
    grid.nodes[1].online = grid.nodes[2].online = False
    seen = []

    def join(message, reply):
        grid.nodes[2].online = True
        return [reply]

    grid.nodes[0].fault = join

    def step(name):
        if name == "before commit":
            seen.append([row["name"] for row in open_run(tmp_path / "run").clients])

    monkeypatch.setattr(files, "step", step)
    flocks = Flocks("fedavg", clients=3, start_with=1, run=tmp_path / "run", evaluate_every=0)
    flocks.start(grid, apps.numpy_start(), num_rounds=2, timeout=5)
    assert seen == [["site-0"], ["site-0", "site-2"]]


def test_a_sample_count_beyond_all_numbers_costs_its_own_reply_only(tmp_path):
    fault = lambda m, r: respond(m, ArrayRecord([good(), np.zeros(3)]), samples=1e300)  # noqa: E731
    assert run(tmp_path / "run", fault).state == "finished"
    told = [event for event in open_run(tmp_path / "run").events if event.kind == "rejected"]
    assert len(told) == 1 and "samples; 1 to 10000000 are allowed" in told[0].message
