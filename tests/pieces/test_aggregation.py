import numpy as np
from tests.pieces.states import batch, state

from flockwise.pieces.aggregation import Merged, PerFlock
from flockwise.pieces.rules import BoundRule

MEAN = BoundRule("mean", lambda updates: updates.mean(axis=0))


def test_the_one_model_goes_on_whoever_is_grouped_with_whom():
    before = state([0, 0, 1, 1, 2], models=3)
    started = Merged(MEAN).begin(before, np.array([1, 1, 0, 3, 3]))
    assert np.array_equal(started, np.repeat(before.models[:1], 4, axis=0))


def test_each_flock_is_compared_with_the_servers_own_update_of_its_model():
    rule = BoundRule("root", lambda updates, root: root, wants_root=True)
    before = state([0, 0, 1], models=2, dimension=1)
    replies = batch([0, 1, 2], np.zeros((3, 1)))
    replies.rows[:] = [0, 0, 1]
    roots = {0: np.array([10.0], np.float32), 1: np.array([20.0], np.float32)}
    after = PerFlock(rule).step(before, before.models, before.labels, replies, roots)
    assert after[:, 0].tolist() == [10.0, 21.0]
