"""Who sent a reply is said by whoever drives the server; the server's own data never comes from outside."""

from dataclasses import replace

import numpy as np

import flockwise as fw
from flockwise.messages import ROOT, Reply, Scores, bound
from flockwise.server import Gate, Server
from flockwise.testing.fakes import FakeEngine, goals_of

GROUPS = [0, 1] * 3
ENGINE = FakeEngine(goals_of(GROUPS, 8), groups=GROUPS)


def server_of(method: fw.Method) -> Server:
    return Server(method, np.zeros((1, 8), np.float32), clients=6)


def test_a_reply_that_names_another_client_is_rejected() -> None:
    server = server_of(fw.fedavg())
    replies = ENGINE.replies(server.ask())
    forged = [(1, replace(replies[1], client=2)), *bound(replies[2:])]
    record = server.tell(forged)
    assert [(e.client, e.message) for e in record.events] == [
        (1, "reply rejected: says that it comes from client 2")
    ]
    assert record.arrays["trained"].tolist() == [False, False, True, True, True, True]


def test_a_reply_without_a_sender_is_rejected() -> None:
    server = server_of(fw.fedavg())
    record = server.tell(ENGINE.replies(server.ask()))
    assert record.facts["participants"] == 0
    assert all("nobody says whose it is" in e.message for e in record.events if e.kind == "rejected")


def test_a_forged_update_of_the_servers_own_data_is_rejected() -> None:
    """One forged root reply turned FLTrust."""
    server = server_of(fw.fedavg(rule=fw.fltrust()))
    plan = server.ask()
    assert any(task.client == ROOT for task in plan.tasks)
    honest = [reply for reply in ENGINE.replies(plan) if reply.client >= 0]
    evil = Reply(ROOT, plan.round, np.full(8, -1e3, np.float32), 10)
    before = server.state.models.copy()
    record = server.tell([*bound(honest), (ROOT, evil)])
    assert "was not asked" in next(e for e in record.events if e.kind == "rejected").message
    assert np.array_equal(server.state.models, before), "without its own update the server trusts nobody"


def test_the_same_holds_for_scores() -> None:
    plan = replace(server_of(fw.fedavg()).ask(), kind="validate")
    score = Scores(3, plan.round, (0.5,), 4)
    assert Gate(8).admit(plan, [(3, score)]).admitted == (score,)
    assert Gate(8).admit(plan, [(4, score)]).rejected == ((4, "says that it comes from client 3"),)
    assert Gate(8).admit(plan, [(ROOT, replace(score, client=ROOT))]).rejected[0][1] == "was not asked"
