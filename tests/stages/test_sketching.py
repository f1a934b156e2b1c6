from dataclasses import replace

import numpy as np
import pytest

import flockwise as fw
from flockwise.clustering.agglomerative import by_tree
from flockwise.errors import ConfigError
from flockwise.kernels.fold import fold_of
from flockwise.metrics import adjusted_rand
from flockwise.server import Server
from flockwise.similarity import SIMILARITIES
from flockwise.stages import Clustered, Known, LatestUpdates
from flockwise.stages.crowds import CROWD
from flockwise.stages.other_clients import for_clients
from flockwise.stages.sketching import automatic_width, sketcher_of, width_for
from flockwise.stages.stage import Round, Setting
from flockwise.stages.state import State, first_state
from tests.stages.states import a_round, after, batch, state

ROWS = np.random.default_rng(0).standard_normal((4, 300)).astype(np.float32)
NARROW = Setting(seed=7, sketch=64)


def remembered(setting: Setting, round: int = 1) -> Round:
    begun = replace(a_round(state([0] * 6, models=1), batch([1, 4], ROWS[:2], round=round)), setting=setting)
    wide = replace(begun.state, models=np.zeros((1, 300), np.float32))
    return after(LatestUpdates().remember, begun.to(wide))


def test_sketches_are_kept_instead_of_updates() -> None:
    known = LatestUpdates().known(remembered(NARROW))
    assert known.clients.tolist() == [1, 4] and known.sketched
    assert np.array_equal(known.rows, fold_of(300, 64, 7)(ROWS[:2]))
    assert np.array_equal(known.of(np.array([1])).rows, known.rows[1:])


def test_sketches_taken_on_the_way_in_are_used_as_they_are() -> None:
    begun = replace(a_round(state([0] * 6, models=1), batch([1, 4], ROWS[:2], round=1)), setting=NARROW)
    taken = np.full((2, 64), 3.0, np.float32)
    begun = begun.to(replace(begun.state, models=np.zeros((1, 300), np.float32)))
    begun = replace(begun, batch=replace(begun.replies, sketches=taken))
    assert np.array_equal(LatestUpdates().known(after(LatestUpdates().remember, begun)).rows, taken)


def test_sketches_survive_a_checkpoint_and_other_clients() -> None:
    done = remembered(NARROW).state
    saved = State.from_arrays({name: array.copy() for name, array in done.to_arrays().items()})
    again = Round(saved, NARROW)
    assert np.array_equal(LatestUpdates().known(again).rows, fold_of(300, 64, 7)(ROWS[:2]))
    moved, forgotten = for_clients(saved, np.array([-1, 4, 1]))
    assert not forgotten and LatestUpdates().known(Round(moved, NARROW)).clients.tolist() == [1, 2]


def test_whole_updates_of_before_become_sketches_and_other_sketches_are_forgotten() -> None:
    whole = remembered(Setting(sketch=None)).state

    def go_on(before: State, setting: Setting) -> Known:
        begun = replace(a_round(state([0] * 6, models=1), batch([2], ROWS[2:3], round=2)), setting=setting)
        return LatestUpdates().known(after(LatestUpdates().remember, begun.to(before)))

    known = go_on(whole, NARROW)
    assert known.clients.tolist() == [1, 2, 4]
    assert np.array_equal(known.rows, fold_of(300, 64, 7)(ROWS[[0, 2, 1]]))
    assert go_on(remembered(NARROW).state, replace(NARROW, seed=8)).clients.tolist() == [2]


def test_only_what_training_moved_is_sketched() -> None:
    sketcher = sketcher_of(replace(NARROW, learned=((10, 60), (100, 300))), 6, 300)
    assert sketcher is not None
    moved = np.concatenate([ROWS[:, 10:60], ROWS[:, 100:]], axis=1)
    assert np.array_equal(sketcher(ROWS), fold_of(250, 64, 7)(moved))


def test_few_clients_are_compared_exactly_and_many_on_ever_shorter_sketches() -> None:
    assert automatic_width(5_000, 7_850) is None
    assert automatic_width(1_000, 1_000_000) == 8192
    assert automatic_width(3_000, 300_000) == 4096
    assert automatic_width(6_000, 1_000) == 512
    assert automatic_width(5_001, 7_850) == 2048
    assert automatic_width(20_000, 7_850) == 512
    assert automatic_width(200_000, 7_850) == 512
    assert automatic_width(1_000_000, 7_850) == 256
    assert automatic_width(100_000_000, 7_850) == 128


@pytest.mark.parametrize(
    ("method", "told"),
    [(fw.fl_hc(), "similarity 'l1'"), (fw.communities(), "whole models"),
     (fw.custom(similarity="trusted"), "similarity 'trusted'")],
)  # fmt: skip
def test_sketches_are_refused_in_one_line_where_they_say_nothing(method: fw.Method, told: str) -> None:
    with pytest.raises(ConfigError, match=f'evidence.sketch = 64: .*{told}.*"none"'):
        Server(method, np.zeros((1, 300)), 10, setting=NARROW)
    assert width_for(Setting(sketch="auto"), method.round, 100_000, 300) is None


def test_methods_that_compare_nobody_take_no_sketches() -> None:
    assert width_for(NARROW, fw.fedavg().round, 10, 300) is None
    assert width_for(NARROW, fw.flic().round, 10, 300) == 64
    assert width_for(NARROW, fw.cfl().round, 10, 300) == 64


def a_crowd(flocks: int) -> tuple[Known, np.ndarray, Round]:
    rng = np.random.default_rng(1)
    count = CROWD + 1_000
    truth = rng.integers(0, flocks, count)
    rows = 0.7 * rng.standard_normal((count, 64)) + rng.standard_normal((flocks, 64))[truth]
    rows = rows.astype(np.float32)
    known = Known(np.arange(count), rows.copy, sketched=True)
    return known, truth, Round(first_state(np.zeros((1, 1)), count), Setting())


@pytest.mark.parametrize(
    ("similarity", "clustering", "takes"),
    [("one-plus-cosine", "louvain", "similarity"), ("l2", "leiden", "similarity"),
     ("cosine", "agglomerative", "distance"), ("cosine", "kmeans-elbow", "points")],
)  # fmt: skip
def test_a_crowd_has_its_flocks_without_a_matrix_of_all(similarity: str, clustering: str, takes: str) -> None:
    from flockwise.clustering import CLUSTERERS, as_clustering
    from flockwise.similarity import SIMILARITIES

    known, truth, round = a_crowd(5)
    found = Clustered(
        SIMILARITIES[similarity], lambda m, seed: as_clustering(CLUSTERERS[clustering]).cluster(m), takes,  # type: ignore[arg-type]
        min_separation=1.0,
    ).find(known, round)  # fmt: skip
    assert fw.metrics.adjusted_rand(found.labels, truth) > 0.99
    assert found.square is not None and found.compared is not None
    assert found.square.shape == (len(found.compared),) * 2 and len(found.compared) < 500
    assert found.facts["separation"] > 1


def test_a_crowd_of_one_kind_is_one_flock() -> None:
    known, _, round = a_crowd(1)
    from flockwise.clustering import louvain
    from flockwise.similarity import one_plus_cosine

    found = Clustered(one_plus_cosine, lambda graph, seed: louvain(graph), "similarity").find(known, round)
    assert found.flocks == 1


def test_single_linkage_of_a_crowd_is_cut_from_its_spanning_tree() -> None:
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 3, CROWD + 200)
    middles = 5 * rng.standard_normal((3, 40)).astype(np.float32)
    rows = middles[truth] + 0.2 * rng.standard_normal((len(truth), 40)).astype(np.float32)
    rows[:5] = 50 + 10 * rng.standard_normal((5, 40))  # too few, and too far from everybody, to be flocks
    known = Known(np.arange(len(rows)), rows.copy, sketched=True, pick=lambda some: rows[some])
    grouping = Clustered(
        SIMILARITIES["l2"],
        lambda away, seed: np.zeros(len(away), np.int64),
        "distance",
        by_tree=by_tree("single", 5.0),
    )
    found = grouping.find(known, Round(first_state(np.zeros((1, 1)), len(rows)), Setting()))
    assert found.flocks == 3 and adjusted_rand(found.labels[5:], truth[5:]) == 1.0
