"""Worker processes that live as long as the engine; jobs travel as JSON, models through shared memory."""

import contextlib
import json
import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

from flockwise.errors import EngineError, FlockwiseError

Job = dict[str, Any]
Handler = Callable[[Job], Job]


class WorkerDied(EngineError):
    """A worker process is gone, and what it was doing is not done."""

    def __init__(self) -> None:
        super().__init__("a worker process died; resume the run to go on from the last checkpoint")


_IN_FLIGHT = 2  # jobs a worker holds: one it works on, one that waits, so that it never idles


class Pool:
    """Forked workers around one handler."""

    def __init__(self, workers: int, handler: Handler) -> None:
        context = multiprocessing.get_context("fork")
        self._pipes: list[Connection] = []
        self._processes = []
        for _ in range(workers):
            here, there = context.Pipe()
            process = context.Process(target=_serve, args=(there, handler, [*self._pipes, here]), daemon=True)
            process.start()
            there.close()
            self._pipes.append(here)
            self._processes.append(process)

    def run(self, jobs: Sequence[Job]) -> Iterator[Job]:
        """Deal the first jobs out at once; the answers then come in the order in which they are ready."""
        waiting = deque(jobs)
        held: dict[Connection, int] = dict.fromkeys(self._pipes, 0)
        for _ in range(_IN_FLIGHT):
            for pipe in self._pipes:
                if waiting:
                    self._send(pipe, waiting.popleft())
                    held[pipe] += 1
        return self._answers(waiting, held, len(jobs))

    def _answers(self, waiting: deque[Job], held: dict[Connection, int], left: int) -> Iterator[Job]:
        while left:
            ready = set(wait([pipe for pipe, count in held.items() if count]))
            for pipe in [pipe for pipe in self._pipes if pipe in ready]:
                answer = self._receive(pipe)
                held[pipe] -= 1
                left -= 1
                if waiting:
                    self._send(pipe, waiting.popleft())
                    held[pipe] += 1
                if "error" in answer:
                    raise EngineError(answer["error"])
                yield answer

    def close(self) -> None:
        """Stop the workers."""
        for pipe in self._pipes:
            with contextlib.suppress(OSError):
                pipe.send_bytes(b"")
            pipe.close()
        for process in self._processes:
            process.join(timeout=2)
            if process.is_alive():
                process.kill()
        self._pipes, self._processes = [], []

    def _send(self, pipe: Connection, job: Job) -> None:
        try:
            pipe.send_bytes(json.dumps(job).encode())
        except OSError as error:
            raise WorkerDied from error

    def _receive(self, pipe: Connection) -> Job:
        try:
            answer: Job = json.loads(pipe.recv_bytes())
        except (EOFError, OSError) as error:
            raise WorkerDied from error
        return answer


def _serve(pipe: Connection, handler: Handler, others: list[Connection]) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # often sent to the whole group:
        signal.signal(number, signal.SIG_IGN)  # they are the parent's business, whose round is to end
    for other in others:  # or the parent's death would go unnoticed
        other.close()
    with contextlib.suppress(EOFError, OSError):
        while message := pipe.recv_bytes():
            try:
                answer = handler(json.loads(message))
            except FlockwiseError as error:  # its line says what to mend, wherever it arose
                answer = {"error": str(error)}
            except Exception as error:  # told to the parent, which decides
                answer = {"error": f"a worker failed: {type(error).__name__}: {error}"}
            pipe.send_bytes(json.dumps(answer).encode())
    os._exit(0)
