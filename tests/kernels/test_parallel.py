import os
import threading

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

from flockwise.aggregation import krum, median
from flockwise.kernels import set_threads, thread_count
from flockwise.kernels.parallel import blocks, each_chunk, one_blas_thread


def blas_threads():
    return [library.num_threads for library in ThreadpoolController().select(user_api="blas").lib_controllers]


def test_blas_gets_its_threads_back():
    before = blas_threads()
    with one_blas_thread():
        with one_blas_thread():
            assert set(blas_threads()) == {1}
        assert set(blas_threads()) == {1}
    assert blas_threads() == before


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


def test_as_many_threads_as_the_process_may_use():
    assert thread_count() == len(os.sched_getaffinity(0))


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
