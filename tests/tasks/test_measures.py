"""Metrics beside scikit-learn's."""

import numpy as np
import pytest
from sklearn import metrics

from flockwise.tasks import measures


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_errors_of_numbers(rng):
    predicted, targets = rng.normal(size=50), rng.normal(size=50)
    assert measures.mean_absolute_error(predicted, targets) == pytest.approx(
        metrics.mean_absolute_error(targets, predicted)
    )
    assert measures.root_mean_squared_error(predicted, targets) == pytest.approx(
        metrics.root_mean_squared_error(targets, predicted)
    )
    assert measures.r_squared(predicted, targets) == pytest.approx(metrics.r2_score(targets, predicted))
    both = rng.normal(size=(50, 2)), rng.normal(size=(50, 2))
    assert measures.r_squared(*both) == pytest.approx(metrics.r2_score(both[1], both[0]))
    assert np.isnan(measures.r_squared(predicted, np.ones(50)))


def test_areas_under_curves_with_ties(rng):
    predicted, targets = rng.integers(0, 5, 60) / 5, rng.integers(0, 2, 60)
    assert measures.auc(predicted, targets) == pytest.approx(metrics.roc_auc_score(targets, predicted))
    assert np.isnan(measures.auc(predicted, np.ones(60)))
    many = rng.random((60, 3)), rng.integers(0, 2, (60, 3))
    assert measures.auc(*many) == pytest.approx(metrics.roc_auc_score(many[1], many[0], average="macro"))


def test_f1_of_labels_and_of_classes(rng):
    predicted, targets = rng.random((60, 3)), rng.integers(0, 2, (60, 3))
    ours = measures.f1(predicted, targets)
    assert ours == pytest.approx(metrics.f1_score(targets, predicted > 0.5, average="macro"))
    assert measures.f1(np.zeros((4, 2)), np.zeros((4, 2))) == 1.0
    said, true = rng.integers(0, 4, 60), rng.integers(0, 4, 60)
    assert measures.macro_f1(said, true) == pytest.approx(metrics.f1_score(true, said, average="macro"))


def test_ignored_steps_do_not_count():
    said, true = np.array([[1, 2, 0], [1, 1, 1]]), np.array([[1, 0, -100], [1, -100, -100]])
    assert measures.accuracy(said, true) == pytest.approx(2 / 3)
    assert measures.macro_f1(said, true) == measures.macro_f1(np.array([1, 2, 1]), np.array([1, 0, 1]))
    assert np.isnan(measures.accuracy(said, np.full((2, 3), -100)))


def test_perplexity_is_finite_for_any_loss():
    assert measures.perplexity(np.log(7)) == pytest.approx(7)
    assert np.isfinite(measures.perplexity(1e9))
