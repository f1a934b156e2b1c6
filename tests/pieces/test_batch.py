"""Replies as arrays."""

import numpy as np

from flockwise.messages import Plan, Reply, Task
from flockwise.pieces.batch import stack


def batch_of(updates: list[np.ndarray]) -> np.ndarray:
    tasks = tuple(Task(client, (0,)) for client in range(len(updates)))
    plan = Plan(1, "train", np.zeros((1, 4), dtype=np.float32), tasks)
    return stack(plan, [Reply(client, 1, update, 10) for client, update in enumerate(updates)], None).updates


def test_the_rows_of_a_matrix_are_not_copied() -> None:
    matrix = np.arange(12, dtype=np.float32).reshape(3, 4).copy()  # of its own, not a view
    assert batch_of(list(matrix)) is matrix


def test_anything_else_is_copied_row_by_row() -> None:
    matrix = np.arange(12, dtype=np.float32).reshape(3, 4).copy()  # of its own, not a view
    doubled = np.arange(24, dtype=np.float32).reshape(3, 8)
    for updates in (
        [matrix[1], matrix[0], matrix[2]],  # another order, which a forged reply or a late one could bring
        [matrix[0], matrix[0], matrix[2]],
        list(matrix[:2]),
        [matrix[0], np.ones(4, dtype=np.float32), matrix[2]],
        [row[::2] for row in doubled],
        list(np.asfortranarray(matrix)),
        [np.ones(4, dtype=np.float32)] * 3,
        [row.view(np.float32)[:4] for row in np.ones((3, 4))],
    ):
        found = batch_of(updates)
        assert found.flags.c_contiguous and found.base is None
        assert np.array_equal(found, np.stack(updates))


def test_no_reply_is_an_empty_matrix() -> None:
    assert batch_of([]).shape == (0, 4)
