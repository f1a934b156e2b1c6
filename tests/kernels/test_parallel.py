import os
import threading

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from flockwise.aggregation import krum, median
from flockwise.kernels import parallel, set_threads, thread_count
from flockwise.kernels.parallel import blocks, each_chunk, one_blas_thread


def blas_threads():
    return [library.num_threads for library in ThreadpoolController().select(user_api="blas").lib_controllers]


@pytest.fixture(autouse=True)
def _libraries_loaded_since(monkeypatch):
    """Which libraries there are is looked up once; other tests may have loaded more since."""
    monkeypatch.setattr(parallel, "_controller", None)


def test_blas_gets_its_threads_back():
    before = blas_threads()
    with one_blas_thread():
        with one_blas_thread():
            assert set(blas_threads()) == {1}
        assert set(blas_threads()) == {1}
    assert blas_threads() == before


def test_blas_is_kept_to_one_thread_by_whoever_needs_it_longest():
    with threadpool_limits(2, user_api="blas"):
        with one_blas_thread():
            with one_blas_thread():
                assert set(blas_threads()) == {1}
            assert set(blas_threads()) == {1}
        assert set(blas_threads()) == {2}
        with one_blas_thread():
            assert set(blas_threads()) == {1}
    with threadpool_limits(1, user_api="blas"), one_blas_thread():
        assert set(blas_threads()) == {1}


def test_blas_gets_its_threads_back_after_an_error():
    before = blas_threads()
    with pytest.raises(RuntimeError), one_blas_thread():
        raise RuntimeError
    assert blas_threads() == before


def test_blocks_cover_everything_once():
    covered = [place for piece in blocks(103, 10) for place in range(103)[piece]]
    assert covered == list(range(103))


def test_every_piece_is_worked_on_once_in_threads():
    seen, lock = [], threading.Lock()

    def work(pieces):
        with lock:
            seen.extend(piece.start for piece in pieces)

    set_threads(3)
    try:
        each_chunk(work, blocks(1000, 7), 10**9)
    finally:
        set_threads(None)
    assert sorted(seen) == list(range(0, 1000, 7))


@pytest.mark.parametrize(
    ("threads", "pieces", "cost", "runs"),
    [
        (1, 10, 10**9, 1),
        (3, 10, 3_999_999, 1),
        (3, 100, 4_000_000, 12),
        (2, 100, 10**9, 8),
        (3, 5, 10**9, 5),
        (2, 2, 10**9, 2),
        (2, 1, 10**9, 1),
    ],
)
def test_work_that_is_worth_it_is_shared_out_in_runs(threads, pieces, cost, runs):
    seen, lock = [], threading.Lock()

    def work(some):
        with lock:
            seen.append([piece.start for piece in some])

    set_threads(threads)
    try:
        each_chunk(work, blocks(pieces, 1), cost)
    finally:
        set_threads(None)
    assert len(seen) == runs and sorted(place for run in seen for place in run) == list(range(pieces))
    assert max(map(len, seen)) - min(map(len, seen)) <= 1


def test_where_the_system_does_not_tell_whose_cores_they_are_all_are_used(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity")
    for told, used in ((5, 5), (None, 1)):
        monkeypatch.setattr(os, "cpu_count", lambda told=told: told)
        assert thread_count() == used


def test_as_many_threads_as_the_process_may_use(monkeypatch):
    assert thread_count() == len(os.sched_getaffinity(0))
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 3, 4} if pid == 0 else set())
    assert thread_count() == 3


def test_rules_called_from_several_threads_at_once_agree():
    rows = np.random.default_rng(0).standard_normal((12, 50_000), dtype=np.float32)
    expected = krum(rows, 2), median(rows)
    results = [None] * 4

    def call(place):
        results[place] = krum(rows, 2), median(rows)

    threads = [threading.Thread(target=call, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        assert np.array_equal(result[0], expected[0]) and np.array_equal(result[1], expected[1])
