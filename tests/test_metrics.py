import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as reference

from flockwise.errors import InputError
from flockwise.metrics import (
    adjusted_rand,
    clients_at_target,
    detection,
    pairs_merged,
    per_group_accuracy,
    purity,
    silhouette,
    worst_client,
)

labels = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=40)


@given(labels)
def test_adjusted_rand_is_that_of_scikit_learn(pairs):
    ours, truth = np.array(pairs).T
    assert adjusted_rand(ours, truth) == pytest.approx(reference.adjusted_rand_score(truth, ours), abs=1e-12)


@given(labels)
def test_adjusted_rand_does_not_depend_on_names_order_or_sides(pairs):
    ours, truth = np.array(pairs).T
    value = adjusted_rand(ours, truth)
    order = np.random.default_rng(0).permutation(len(ours))
    assert adjusted_rand(truth, ours) == pytest.approx(value)
    assert adjusted_rand(10 - ours[order], truth[order]) == pytest.approx(value)


@pytest.mark.parametrize("kind", ["int8", "uint64", "int64", "<U3", "bool"])
def test_labels_may_be_of_any_kind(kind):
    truth = np.array([0, 0, 1, 1, 1])
    labels = {"int8": [-128, -128, 127, 127, 0], "<U3": ["a", "a", "b", "b", "c"], "bool": [False, False, True, True, True],
              "int64": [-(2**62), -(2**62), 2**62, 2**62, 0]}.get(kind, [0, 0, 2**63, 2**63, 5])  # fmt: skip
    expected = reference.adjusted_rand_score(truth, [str(label) for label in labels])
    assert adjusted_rand(np.array(labels, dtype=kind), truth) == pytest.approx(expected)


def test_adjusted_rand_of_1000_clients_does_not_overflow():
    truth = np.arange(100_000) % 7
    assert adjusted_rand(truth, truth) == 1
    assert abs(adjusted_rand(truth, np.arange(100_000) // 20_000)) < 1e-3


def test_majority_purity_counts_the_most_frequent_group_of_each_flock():
    assert purity([0, 0, 0, 1, 1], [5, 5, 6, 6, 6]) == pytest.approx(4 / 5)


def test_merged_pairs_are_those_of_different_groups_in_one_flock():
    assert pairs_merged([0, 0, 0, 1, 1], [5, 5, 6, 6, 6]) == pytest.approx(2 / 6)  # (0, 2) and (1, 2)
    assert pairs_merged([0, 1, 2, 3], [5, 5, 6, 6]) == 0 and pairs_merged([0, 0, 0, 0], [5, 5, 6, 6]) == 1
    assert np.isnan(pairs_merged([0, 1], [5, 5]))


def test_unmixed_purity_counts_clients_of_flocks_with_one_group():
    assert purity([0, 0, 0, 1, 1], [5, 5, 6, 6, 6], kind="unmixed") == pytest.approx(2 / 5)


@given(labels)
def test_both_purities_are_one_for_clients_alone_and_agree_on_what_one_means(pairs):
    ours, truth = np.array(pairs).T
    for kind in ("majority", "unmixed"):
        assert purity(np.arange(len(truth)), truth, kind) == 1
    assert purity(ours, truth, "unmixed") <= purity(ours, truth)
    assert (purity(ours, truth, "unmixed") == 1) == (purity(ours, truth) == 1)


@given(st.integers(3, 30), st.integers(0, 10**6))
def test_silhouette_is_that_of_scikit_learn(count, seed):
    rng = np.random.default_rng(seed)
    points, names = rng.normal(size=(count, 2)), rng.integers(0, 4, count)
    distance = np.linalg.norm(points[:, None] - points, axis=2)
    if 1 < len(set(names)) < count:
        expected = reference.silhouette_score(distance, names, metric="precomputed")
        assert silhouette(distance, names) == pytest.approx(expected, abs=1e-12)


def test_silhouette_is_zero_for_clients_alone_and_undefined_for_one_flock():
    distance = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    assert silhouette(distance, np.arange(4)) == 0
    assert np.isnan(silhouette(distance, np.zeros(4, dtype=int)))


def test_silhouette_leaves_out_pairs_that_were_never_compared():
    distance = np.array([[0, 1, 9, 9], [1, 0, 9, 9], [9, 9, 0, 1], [9, 9, 1, 0]], dtype=float)
    gap = distance.copy()
    gap[0, 2] = gap[2, 0] = np.nan
    assert silhouette(gap, [0, 0, 1, 1]) == pytest.approx(silhouette(distance, [0, 0, 1, 1]))


def test_accuracies_of_clients_without_data_do_not_count():
    accuracies = np.array([0.9, np.nan, 0.5, 1.0])
    assert worst_client(accuracies) == 0.5
    assert clients_at_target(accuracies, 0.9) == pytest.approx(2 / 3)
    assert per_group_accuracy(accuracies, [0, 0, 1, 1]).tolist() == [0.9, 0.75]


def test_groups_without_data_are_nan_and_unplaced_clients_in_no_group():
    found = per_group_accuracy(np.array([0.5, np.nan, 0.7]), np.array([0, 1, -1]))
    assert found[0] == 0.5 and np.isnan(found[1]) and len(found) == 2


def test_without_any_data_the_numbers_are_nan():
    nothing = np.full(3, np.nan)
    assert np.isnan(worst_client(nothing)) and np.isnan(clients_at_target(nothing, 0.5))


def test_detection_counts_caught_attackers_and_false_alarms():
    flagged = np.array([True, True, False, False, True])
    attackers = np.array([True, False, False, True, True])
    found = detection(flagged, attackers)
    assert found.precision == pytest.approx(2 / 3)
    assert found.recall == pytest.approx(2 / 3)
    assert found.false_alarms == 1


def test_detection_is_undefined_where_nobody_is_flagged_or_guilty():
    found = detection(np.zeros(3, dtype=bool), np.zeros(3, dtype=bool))
    assert np.isnan(found.precision) and np.isnan(found.recall) and found.false_alarms == 0


def test_impossible_arguments_are_refused():
    with pytest.raises(InputError):
        adjusted_rand([0, 1], [0])
    with pytest.raises(InputError):
        adjusted_rand([], [])
    with pytest.raises(InputError, match="kind"):
        purity([0], [0], kind="other")
    with pytest.raises(InputError):
        silhouette(np.zeros((2, 2)), [0, 1, 1])
    with pytest.raises(InputError, match="masks"):
        detection([0, 1], [1, 2])
    with pytest.raises(InputError):
        per_group_accuracy([0.5], [0, 1])
