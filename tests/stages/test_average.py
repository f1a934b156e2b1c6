import numpy as np
import pytest

from flockwise.aggregation import mean
from flockwise.aggregation.rule import Rule, as_rule
from flockwise.stages import average, average_groups, one_model_goes_on
from flockwise.stages.timing import FOUND, Looked
from tests.stages.states import a_round, after, batch, state


def test_the_one_model_goes_on_whoever_is_grouped_with_whom():
    before = state([0, 0, 1, 1, 2], models=3)
    started = one_model_goes_on(before, np.array([1, 1, 0, 3, 3]))
    assert np.array_equal(started, np.repeat(before.models[:1], 4, axis=0))


def test_each_flock_is_compared_with_the_servers_own_update_of_its_model():
    rule = Rule(as_rule(lambda updates, root: root, "root"))
    before = state([0, 0, 1], models=2, dimension=1)
    begun = a_round(before, batch([0, 1, 2], np.zeros((3, 1)), rows=[0, 0, 1], sent=before.models))
    roots = {0: np.array([10.0], np.float32), 1: np.array([20.0], np.float32)}
    stage = average(rule)
    assert stage.wants_root
    assert after(stage, begun.to(before, roots=roots)).state.models[:, 0].tolist() == [10.0, 21.0]


def test_those_without_a_group_count_with_the_largest_and_get_no_weight_of_their_own():
    rule = Rule(as_rule(lambda updates: updates.mean(axis=0), "plain"))
    before = state([0, 0, 0, 1, -1, -1], models=2, dimension=1, memory=[(FOUND, Looked(1))])
    updates = np.array([[1.0], [1.0], [1.0], [3.0], [100.0], [100.0]])
    done = after(average_groups(rule), a_round(before, batch(range(6), updates)))
    assert done.state.models[0, 0] == pytest.approx((203 / 5 + 3) / 2)


def test_the_one_model_waits_for_groups_only_if_told_so():
    before = state([0, 0], dimension=1)
    begun = a_round(before, batch([0, 1], [[1.0], [3.0]]))
    assert after(average_groups(mean()), begun).state is before
    assert after(average_groups(mean(), wait=False), begun).state.models[0, 0] == 2.0
