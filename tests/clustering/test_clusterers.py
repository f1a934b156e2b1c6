"""Clusterings by name and as estimators of scikit-learn's shape."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone, is_clusterer
from sklearn.cluster import DBSCAN, KMeans, SpectralClustering
from sklearn.utils import get_tags

from flockwise import clustering
from flockwise.clustering import (
    CLUSTERERS,
    Agglomerative,
    Bipartition,
    KMeansElbow,
    Louvain,
    as_clustering,
    from_estimator,
    in_order,
    louvain,
)
from flockwise.errors import ConfigError, InputError, PluginError


def matrix(takes):
    points = (
        np.repeat([[0.0, 0.0], [9.0, 9.0]], 6, axis=0) + np.random.default_rng(0).normal(size=(12, 2)) * 0.1
    )
    distance = np.linalg.norm(points[:, None] - points, axis=2)
    return {"points": points, "distance": distance, "similarity": np.exp(-distance)}[takes]


@pytest.mark.parametrize("name", CLUSTERERS)
class TestEvery:
    def test_runs_by_name_with_its_own_defaults(self, name):
        piece = CLUSTERERS[name]
        assert piece.name == name and piece.summary.endswith(".")
        labels = piece().fit_predict(matrix(piece.takes))
        assert labels.tolist() == [0] * 6 + [1] * 6 and labels.dtype == np.int64

    def test_keeps_the_contract_of_scikit_learn(self, name):
        piece = CLUSTERERS[name]
        estimator = piece.function(**piece.defaults)
        assert estimator.get_params() == piece.defaults
        assert estimator.set_params(**piece.defaults) is estimator
        assert repr(estimator) == f"{piece.function.__name__}()"
        given = matrix(piece.takes)
        before = given.copy()
        assert not hasattr(estimator, "labels_")
        assert estimator.fit(given) is estimator
        np.testing.assert_array_equal(given, before)
        again = clone(estimator)
        assert type(again) is type(estimator) and again.get_params() == estimator.get_params()
        assert not hasattr(again, "labels_")
        np.testing.assert_array_equal(again.fit_predict(given), estimator.labels_)
        assert is_clusterer(estimator) and get_tags(estimator).input_tags.pairwise == (
            piece.takes != "points"
        )

    def test_can_be_imported_by_the_name_of_its_class(self, name):
        kind = CLUSTERERS[name].function
        assert getattr(clustering, kind.__name__) is kind
        assert (kind.name, kind.takes) == (name, CLUSTERERS[name].takes)

    def test_refuses_what_it_cannot_take_with_one_line(self, name):
        piece = CLUSTERERS[name]
        bad = [np.full((4, 4), np.inf), np.zeros((0, 0)), np.zeros((2, 2, 2))]
        if piece.takes != "points":
            bad += [np.zeros((3, 4)), np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 1.0], [0.0, 2.0, 0.0]])]
        for wrong in bad:
            with pytest.raises(InputError) as caught:
                piece().fit(wrong)
            assert "\n" not in str(caught.value)

    def test_a_wrong_option_is_one_line(self, name):
        with pytest.raises(ConfigError, match=rf"^{name}\.nonsense = 1: unknown key; [^\n]*$"):
            CLUSTERERS[name](nonsense=1)
        with pytest.raises(InputError, match="nonsense = 1: not an option of"):
            CLUSTERERS[name].function().set_params(nonsense=1)


def test_options_have_bounds_and_a_repr_shows_what_was_changed():
    assert repr(Louvain(resolution=2.0)) == "Louvain(resolution=2.0)"
    assert (
        repr(Agglomerative(threshold=0.5, linkage="single"))
        == "Agglomerative(linkage='single', threshold=0.5)"
    )
    assert CLUSTERERS["louvain"](resolution=2).resolution == 2
    for name, options in (
        ("louvain", {"resolution": 0}),
        ("kmeans-elbow", {"k_max": 0}),
        ("agglomerative", {"linkage": "x"}),
    ):
        with pytest.raises(ConfigError, match=f"^{name}.{next(iter(options))} = "):
            CLUSTERERS[name](**options)


def test_estimators_keep_what_else_they_found():
    assert Bipartition().fit(matrix("similarity")).alpha_cross_ < 0.01
    assert len(KMeansElbow(k_max=4).fit(matrix("points")).sse_) == 4


def test_importing_the_clusterings_does_not_import_scikit_learn():
    code = "import sys, flockwise.clustering as c; list(c.CLUSTERERS); assert 'sklearn' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_anything_that_clusters_is_made_ready_the_same_way():
    def halves(similarity, at=6):
        return [int(client >= at) * 7 for client in range(len(similarity))]

    for chosen, options, takes in (
        (CLUSTERERS["louvain"], {"resolution": 1.0}, "similarity"),
        (Agglomerative(), {}, "distance"),
        (Louvain, {"seed": 3}, "similarity"),
        (DBSCAN, {"eps": 0.5, "metric": "precomputed"}, "distance"),
        (KMeans(2, n_init=3, random_state=0), {}, "points"),
        (SpectralClustering(2, affinity="precomputed", random_state=0), {}, "similarity"),
        (louvain, {"starts": 1}, "similarity"),
        (halves, {"at": 6}, "similarity"),
    ):
        ready = as_clustering(chosen, options)
        assert ready.takes == takes
        assert ready.cluster(matrix(takes)).tolist() == [0] * 6 + [1] * 6


def test_a_run_gives_its_seed_unless_the_options_say_one():
    seen = []

    class Spy(Louvain):
        def fit(self, X, y=None):
            seen.append(self.seed)
            return super().fit(X)

    from dataclasses import replace

    piece = replace(CLUSTERERS["louvain"], function=Spy)
    as_clustering(piece, seed=7).cluster(matrix("similarity"))
    as_clustering(piece, {"seed": 3}, seed=7).cluster(matrix("similarity"))
    assert seen == [7, 3]


@pytest.mark.parametrize(
    ("chosen", "options", "error", "line"),
    [
        (
            CLUSTERERS["louvain"],
            {"resolutio": 2},
            ConfigError,
            "c.resolutio = 2: unknown key; did you mean 'resolution'?",
        ),
        (DBSCAN, {"epsilon": 2}, ConfigError, "c: .*unexpected keyword argument 'epsilon'"),
        (DBSCAN(), {"eps": 2}, ConfigError, r"c.eps: DBSCAN\(\) has its options already"),
        (object(), {}, PluginError, "must be a function, or have a fit_predict method"),
        (7, {}, PluginError, "clustering = 7: must be a function"),
    ],
)
def test_what_cannot_be_made_ready_is_refused_with_one_line(chosen, options, error, line):
    with pytest.raises(error, match=line) as caught:
        as_clustering(chosen, options, prefix="c.")
    assert "\n" not in str(caught.value)


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
