"""Replies as columns."""

import numpy as np

from flockwise.messages import Plan, Replies, Reply, Task
from flockwise.rng import generator
from flockwise.server import Gate
from flockwise.stages.batch import batch_of, believed
from tests.conftest import Cases


def columns(matrix: np.ndarray, clients: list[int]) -> tuple[Plan, Replies]:
    plan = Plan(1, "train", np.zeros((1, 4), np.float32), tuple(Task(client) for client in clients))
    count = len(clients)
    who = np.array(clients, np.int64)
    return plan, Replies(
        1,
        who,
        matrix,
        np.full(count, 10),
        np.zeros(count, np.int64),
        np.zeros(count),
        np.full((count, 3), np.nan),
    )


def test_the_matrix_of_an_engine_is_not_copied_on_its_way_into_a_batch() -> None:
    matrix = np.arange(12, dtype=np.float32).reshape(3, 4)
    plan, replies = columns(matrix, [0, 1, 2])
    batch = batch_of(plan, Gate(4).admit(plan, replies).admitted)
    assert batch.updates is matrix
    assert batch.of(np.ones(3, bool)) is batch


def test_columns_in_another_order_come_out_by_client_number() -> None:
    matrix = np.arange(12, dtype=np.float32).reshape(3, 4)
    plan, replies = columns(matrix, [2, 0, 1])
    batch = batch_of(plan, Gate(4).admit(plan, replies).admitted)
    assert batch.clients.tolist() == [0, 1, 2]
    assert np.array_equal(batch.updates, matrix[[1, 2, 0]])


def stacked(updates: list[np.ndarray]) -> np.ndarray:
    tasks = tuple(Task(client, (0,)) for client in range(len(updates)))
    plan = Plan(1, "train", np.zeros((1, 4), dtype=np.float32), tasks)
    replies = [(client, Reply(client, 1, update, 10)) for client, update in enumerate(updates)]
    return batch_of(plan, Gate(4).admit(plan, replies).admitted).updates


def test_single_replies_are_copied_row_by_row() -> None:
    matrix = np.arange(12, dtype=np.float32).reshape(3, 4).copy()  # of its own, not a view
    doubled = np.arange(24, dtype=np.float32).reshape(3, 8)
    for updates in (
        list(matrix),
        [matrix[1], matrix[0], matrix[2]],  # another order, which a forged reply or a late one could bring
        [matrix[0], matrix[0], matrix[2]],
        list(matrix[:2]),
        [matrix[0], np.ones(4, dtype=np.float32), matrix[2]],
        [row[::2] for row in doubled],
        list(np.asfortranarray(matrix)),
        [np.ones(4, dtype=np.float32)] * 3,
        [row.view(np.float32)[:4] for row in np.ones((3, 4))],
    ):
        found = stacked(updates)
        assert found.flags.c_contiguous and found.base is None
        assert np.array_equal(found, np.stack(updates))


def test_no_reply_is_an_empty_matrix() -> None:
    assert stacked([]).shape == (0, 4)


def test_a_claimed_count_is_believed_up_to_so_many_medians() -> None:
    assert believed(np.array([10.0, 1000, 20]), 5.0).tolist() == [10, 100, 20]
    assert believed(np.array([10.0, 1000, 20]), None).tolist() == [10, 1000, 20]
    assert believed(np.array([10.0, 1000]), 5.0).tolist() == [10, 50], "of two, the smaller is the median"
    assert believed(np.array([]), 5.0).tolist() == []


def test_what_was_sent_is_the_model_that_each_client_chose_to_train() -> None:
    models = np.arange(8, dtype=np.float32).reshape(2, 4)
    plan = Plan(1, "train", models, (Task(0, (0, 1)), Task(1, (1,))))
    replies = Replies.stack(
        1, [Reply(0, 1, np.zeros(4, np.float32), 5, chosen=1), Reply(1, 1, np.zeros(4, np.float32), 5)], 4
    )
    batch = batch_of(plan, replies)
    assert batch.rows.tolist() == [1, 1]
    assert np.array_equal(batch.sent, models[[1, 1]]) and batch.sent.strides[0] == 0, (
        "one model, not a copy for each"
    )


def test_one_client_has_no_larger_share_than_the_cap_allows_whatever_it_claims(cases: Cases) -> None:
    random = generator(0, "claims")
    for _ in range(cases.many(500)):
        honest = np.exp(random.uniform(0, 12, int(random.integers(0, 30)))).round()
        cap = float(random.uniform(1, 20))
        liar = int(random.integers(len(honest) + 1))
        counts = np.insert(honest, liar, float(10 ** random.integers(0, 18)))
        weights = believed(counts, cap)
        assert weights[liar] / weights.sum() <= cap / (cap + len(counts) // 2) * (1 + 1e-12)
        assert (weights <= counts).all() and (weights > 0).all()
