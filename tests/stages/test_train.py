"""The stage in which clients train."""

import numpy as np
import pytest

from flockwise.messages import Event, Replies, Reply, is_root, root_for
from flockwise.stages import UNPLACED, Choice, everyone, train
from flockwise.stages.attribution import BLIND, Blind
from flockwise.stages.stage import Admitted
from flockwise.stages.train import HEARD
from tests.stages.states import a_round, asked, batch, state


def reply(client, update, **more):
    return Reply(client, 1, np.asarray(update, np.float32), 10, **more)


def test_the_server_trains_every_model_that_is_sent_and_its_updates_are_told_from_the_clients():
    before = state([0, 1, 0], dimension=2)
    begun = a_round(before).to(before, with_root=True)
    replies = [reply(-2, [8, 8]), reply(-1, [7, 7]), reply(0, [1, 1]), reply(1, [2, 2]), reply(2, [3, 3])]
    plan, done = asked(train(everyone), begun, Replies.stack(1, replies, 2))
    assert [(task.client, task.models) for task in plan.tasks if is_root(task.client)] == [
        (root_for(0), (0,)), (root_for(1), (1,)),
    ]  # fmt: skip
    assert {row: update.tolist() for row, update in done.roots.items()} == {0: [7, 7], 1: [8, 8]}
    assert done.replies.clients.tolist() == [0, 1, 2] and done.replies.rows.tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("replies", "told"),
    [
        ([reply(0, [1, 1])], "no update on the server's own data could be used; models are unchanged"),
        ([reply(-1, [1, 1])], "nobody's reply could be used; models are unchanged"),
    ],
)
def test_a_round_without_the_servers_own_update_or_without_clients_is_skipped(replies, told):
    before = state([0, 0], dimension=2)
    _, done = asked(train(everyone), a_round(before).to(before, with_root=True), Replies.stack(1, replies, 2))
    assert [(event.kind, event.message) for event in done.events] == [("skipped", told)]
    assert done.batch is None and done.state is before


def test_who_trained_with_which_loss_is_on_record_and_remembered():
    before = state([0] * 4)
    _, done = asked(
        train(everyone), a_round(before), batch([1, 3], np.zeros((2, 3)), losses=[0.5, 0.25]).replies
    )
    assert done.arrays["trained"].tolist() == [False, True, False, True]
    np.testing.assert_array_equal(done.arrays["loss"], [np.nan, 0.5, np.nan, 0.25])
    assert HEARD.get(done.state).clients.tolist() == [1, 3]


def test_what_the_gate_rejected_is_on_record():
    steps = train(everyone).run(a_round(state([0, 0])))
    next(steps)
    rejected = (Event("rejected", "reply rejected: was not asked", 7),)
    with pytest.raises(StopIteration) as done:
        steps.send(Admitted(batch([0], np.zeros((1, 3))).replies, rejected))
    assert done.value.value.events == rejected


def test_clients_are_where_they_chose_to_be_and_a_first_choice_is_told():
    before = state([0, 0, UNPLACED], models=2, memory=[(BLIND, Blind(np.array([False, False, True])))])
    _, done = asked(train(everyone), a_round(before), batch([0, 2], np.zeros((2, 3)), chosen=[0, 0]).replies)
    assert done.state.labels.tolist() == [0, 0, UNPLACED], "one flock has members: there was no choice"
    _, done = asked(
        train(everyone, Choice()), a_round(before), batch([0, 2], np.zeros((2, 3)), chosen=[1, 1]).replies
    )
    assert done.state.labels.tolist() == [1, 0, 1]
    assert [(event.kind, event.client) for event in done.events] == [("placed", 2)]
