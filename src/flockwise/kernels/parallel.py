"""Work on column blocks in several threads, with the same bits for any number of threads."""

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise

from threadpoolctl import ThreadpoolController

_lock = threading.Lock()
_pins = 0
_libraries: list[tuple[object, int]] = []
_controller: ThreadpoolController | None = None
_threads: int | None = None


def set_threads(count: int | None) -> None:
    """Use at most `count` threads in every kernel; None means as many as this process may run on."""
    global _threads
    _threads = count


def thread_count() -> int:
    """How many threads a kernel may use."""
    return _threads if _threads is not None else available_cores()


def available_cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS to one thread: how it would split a product decides the rounding.

    Costs 2 microseconds (threadpoolctl's own context manager takes 20). The setting belongs to the process,
    so the outermost of several concurrent users sets it and the last one puts it back.
    """
    global _pins, _controller
    with _lock:
        if _controller is None:
            _controller = ThreadpoolController().select(user_api="blas")
        if _pins == 0:
            _libraries.clear()
            for library in _controller.lib_controllers:
                count = library.get_num_threads()
                if count != 1:
                    library.set_num_threads(1)
                    _libraries.append((library, count))
        _pins += 1
    try:
        yield
    finally:
        with _lock:
            _pins -= 1
            if _pins == 0:
                for library, count in _libraries:
                    library.set_num_threads(count)  # type: ignore[attr-defined]


def blocks(size: int, block: int) -> list[slice]:
    """Slices of `block` columns; the boundaries depend on nothing but the arguments."""
    return [slice(start, min(start + block, size)) for start in range(0, size, block)]


def each_chunk(work: Callable[[list[slice]], None], pieces: list[slice], cost: int) -> None:
    """Call `work` on runs of pieces, in threads if the cost (numbers touched) is worth a thread's start.

    For work that writes each piece's result to a place of its own.
    """
    threads = min(thread_count(), len(pieces))
    if threads <= 1 or cost < 4_000_000:
        with one_blas_thread():
            work(pieces)
        return
    # More runs than threads, so that a core taken by someone else does not hold up the others.
    runs = min(len(pieces), 4 * threads)
    cuts = [len(pieces) * run // runs for run in range(runs + 1)]
    with one_blas_thread(), ThreadPoolExecutor(threads) as pool:
        for future in [pool.submit(work, pieces[a:b]) for a, b in pairwise(cuts)]:
            future.result()
