import numpy as np
import pytest
from sklearn.cluster import DBSCAN, KMeans

from flockwise.clustering import CLUSTERERS, from_estimator, in_order
from flockwise.errors import InputError


@pytest.mark.parametrize("name", CLUSTERERS)
def test_every_clustering_runs_by_name_with_its_own_defaults(name):
    clusterer = CLUSTERERS[name]
    assert clusterer.name == name and clusterer.summary.endswith(".")
    points = (
        np.repeat([[0.0, 0.0], [9.0, 9.0]], 6, axis=0) + np.random.default_rng(0).normal(size=(12, 2)) * 0.1
    )
    distance = np.linalg.norm(points[:, None] - points, axis=2)
    matrix = {"points": points, "distance": distance, "similarity": np.exp(-distance)}[clusterer.takes]
    labels = clusterer.function(matrix, **clusterer.parameters)
    assert labels.tolist() == [0] * 6 + [1] * 6
    assert labels.dtype == np.int64


def test_an_estimator_of_scikit_learn_becomes_a_clustering():
    points = np.array([[9.0], [0.0], [9.1], [0.1]])
    model = KMeans(2, n_init=3, random_state=0)
    assert from_estimator(model)(points).tolist() == [0, 1, 0, 1]
    assert not hasattr(model, "labels_")


def test_noise_clients_of_an_estimator_stay_alone():
    labels = from_estimator(DBSCAN(eps=0.5, min_samples=2))(np.array([[0.0], [5.0], [0.1], [9.0]]))
    assert labels.tolist() == [0, 1, 0, 2]


def test_an_object_without_fit_predict_is_refused():
    with pytest.raises(InputError, match="fit_predict"):
        from_estimator(object())


def test_labels_are_numbered_by_first_client():
    assert in_order([7, 7, 3, 9, 3]).tolist() == [0, 0, 1, 2, 1]
