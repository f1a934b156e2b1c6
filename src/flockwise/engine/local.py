"""The local engine: every client of a plan on this machine, one client at a time per core."""

import math
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from flockwise.engine.arena import Arena
from flockwise.engine.client_work import ClientWork
from flockwise.engine.pool import Job, Pool
from flockwise.engine.scratch import Scratch, folder_for
from flockwise.engine.simulation import Simulation
from flockwise.kernels.parallel import available_cores
from flockwise.kernels.stored import Matrix
from flockwise.messages import Plan, Replies, Scores, Task, is_root
from flockwise.types import Clients, Rows, Updates, Vector

# Seconds of training below which a plan is carried out in this process: messages to workers would cost more.
_LIGHT = 0.003
_LIGHT_TEST = 0.02  # seconds of testing below which this process takes its share instead of waiting
# Bytes of updates of one round that are held in memory. A larger round is carried out in parts, and is on disk.
AT_ONCE = 1 << 30
_PART = 128 << 20  # bytes of such a part
_MUCH = 256 << 20  # bytes of updates; getting memory anew for each round has a price


@dataclass(frozen=True)
class Local:
    """This machine as the engine: `run(..., engine=Local(workers=2))`; 0 workers: one per core."""

    workers: int = 0

    def open(self, work: ClientWork, most_models: int) -> "LocalEngine":
        """Start the workers."""
        return LocalEngine(work, self.workers, most_models)


class LocalEngine(Simulation):
    """Trains in `workers` processes (in this one if it is 1); the result does not depend on how many."""

    def __init__(self, work: ClientWork, workers: int = 0, most_models: int = 0) -> None:
        super().__init__(work, most_models)
        clients = work.federation.clients
        self.workers = min(workers or available_cores(), clients)
        if sys.platform != "linux" or work.device != "cpu":
            self.workers = 1  # forking is not safe there
        # Room for the server's own data too, which may train every model.
        most = max(AT_ONCE // (4 * work.travel.size), 16 * self.workers)
        self._updates = Arena(min(clients + self._rows, most), work.travel.size, likely=min(clients, most))
        reported = sum(int(np.prod(shape)) for shape in work.report.shapes.values()) if work.report else 0
        self._reports = Arena(len(self._updates.rows), reported, np.float64)
        self._pace = float(
            "inf"
        )  # seconds a sample in training, the best seen: loads and first uses slow others
        self._test_pace = float("inf")  # likewise in testing
        self._pool = Pool(self.workers, self._handle) if self.workers > 1 else None

    def train(self, plan: Plan) -> Replies:
        """Longest jobs first, so that no core waits long at the end."""
        self.share(plan.models)
        work = {t.client: self._work.samples(t.client, plan.round) * len(t.models) for t in plan.tasks}
        tasks = sorted(plan.tasks, key=lambda task: (-work[task.client], task.client))
        light = sum(work.values()) * self._pace < _LIGHT
        rows = {client: row for row, client in enumerate(sorted(work))}
        updates, put, room = self._place_for(len(tasks))
        reports = np.empty((len(tasks), self._reports.rows.shape[1]))
        answers: dict[int, Job] = {}
        step = max(_PART // (4 * self._updates.rows.shape[1]), 1)
        for first in range(0, len(tasks), room):  # as many at once as there is room for
            some = tasks[first : first + room]
            jobs = [self._job("train", plan, task, slot) for slot, task in enumerate(some)]
            found = [answer for answer in self._run(jobs, light) if answer["samples"]]
            slots, places = [a["slot"] for a in found], [rows[a["client"]] for a in found]
            for start in range(0, len(slots), step):  # all at once would hold them a third time
                put(places[start : start + step], self._updates.rows[slots[start : start + step]])
            reports[places] = self._reports.rows[slots]
            answers |= {answer["client"]: answer for answer in found}
        if updates.nbytes > _MUCH:  # or a round of all clients would be held twice from now on
            self._updates.free(min(len(tasks), room))
        paces = [a["seconds"] / a["samples"] for a in answers.values() if work[a["client"]]]
        self._pace = min([self._pace, *paces])
        ordered = [answers[client] for client in sorted(answers)]
        if len(answers) < len(tasks):
            kept = [rows[client] for client in sorted(answers)]
            updates, reports = updates[kept], reports[kept]
        clients = np.array(sorted(answers), dtype=np.int64)
        return Replies(
            plan.round, clients, updates,
            np.array([answer["samples"] for answer in ordered], dtype=np.int64),
            np.array([answer["chosen"] for answer in ordered], dtype=np.int64),
            np.array(_from_json(answer["loss"] for answer in ordered), dtype=np.float64),
            self._origins_of(clients),
            self._reported(reports),
        )  # fmt: skip

    def _place_for(self, clients: int) -> tuple[Matrix, Callable[[list[int], Updates], None], int]:
        """Where the updates of so many clients go, how they get there, and how many train at a time."""
        room, size = self._updates.rows.shape
        if 4 * clients * size <= AT_ONCE or folder_for(4 * clients * size) is None:
            updates = np.empty((clients, size), dtype=np.float32)
            return updates, updates.__setitem__, room
        scratch = Scratch(clients, size)
        return scratch.rows, scratch.write, min(room, max(_PART // (4 * size), 16 * self.workers))

    def _reported(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """Reports as columns by name."""
        found, start = {}, 0
        for name, shape in self._work.report.shapes.items() if self._work.report else ():
            stop = start + int(np.prod(shape))
            found[name] = rows[:, start:stop].reshape(len(rows), *shape)
            start = stop
        return found

    def validate(self, plan: Plan) -> list[Scores]:
        """Every task's models on the client's validation data (the server's own data for ROOT)."""
        self.share(plan.models)
        jobs = [self._job("validate", plan, task, 0) for task in plan.tasks]
        answers = sorted(self._run(jobs), key=lambda answer: int(answer["client"]))
        return [
            Scores(
                a["client"],
                plan.round,
                tuple(_from_json(a["scores"])),
                a["samples"],
                tuple(_from_json(a["losses"])),
                tuple(a["shares"]),
            )
            for a in answers
        ]

    def test(self, round: int, clients: Clients, rows: Rows, among: range | None = None) -> None:
        """`among` are those that come back round after round, of whom each worker keeps to its own and their data."""
        if not self._work.kept.nothing:  # no two clients have the same model
            jobs: list[Job] = [
                {"kind": "test own", "round": round, "client": client, "row": int(rows[client])}
                for client in clients.tolist()
            ]
            for _ in self._run(jobs):  # the results are in shared memory
                pass
            return
        light = self._test_sizes[clients].sum() * self._test_pace < _LIGHT_TEST
        jobs = self._groups(round, clients, rows, among or range(self._work.federation.clients), light)
        here = len(jobs) // self.workers if light else 0  # this process takes its share, or only waits
        answers = self._run(jobs[here:])
        for answer in [*map(self._handle, jobs[:here]), *answers]:  # the results are in shared memory
            self._test_pace = min(self._test_pace, answer["seconds"] / max(answer["samples"], 1))

    def _groups(self, round: int, clients: Clients, rows: Rows, among: range, light: bool) -> list[Job]:
        """Neighbours that have the same model are tested together."""
        # Two jobs a worker are dealt out at once.
        parts = self.workers if light or len(np.unique(rows[clients])) > 1 else 2 * self.workers
        chunk = (clients - among.start) // -(-len(among) // parts)
        jobs: list[Job] = []
        for neighbours in np.split(clients, np.flatnonzero(np.diff(chunk)) + 1):
            for row in np.unique(rows[neighbours]).tolist():
                same = neighbours[rows[neighbours] == row].tolist()
                jobs.append({"kind": "test", "round": round, "row": row, "clients": same})
        return jobs

    def describe(self) -> str:
        """What trains, and on how many cores."""
        where = f"{self.workers} worker processes" if self.workers > 1 else "1 process"
        return f"{where}, {self._work.why}"

    def close(self) -> None:
        """Stop the workers."""
        if self._pool:
            self._pool.close()
            self._pool = None

    def _run(self, jobs: list[Job], light: bool = False) -> Iterable[Job]:
        if self._pool is None or light:
            return map(self._handle, jobs)
        return self._pool.run(jobs)

    def _job(self, kind: str, plan: Plan, task: Task, slot: int) -> Job:
        return {
            "kind": kind,
            "round": plan.round,
            "client": task.client,
            "models": list(task.models),
            "slot": slot,
            "shares": plan.shares,
        }

    def _handle(self, job: Job) -> Job:
        """One job, in a worker or in this process."""
        work, kind, round = self._work, job["kind"], job["round"]
        if kind == "test":
            return self._test_group(job)
        client = job["client"]
        if kind == "test own":
            used = work.kept.used(self._models.rows[job["row"]], self._row(client))
            tested = work.score(client, "test", round, used)
            self.results.rows[client] = [*tested, work.fooled(client, round, used)]
            return {}
        models = job["models"]
        # one model, the usual case, without a copy
        sent = self._models.rows[models if len(models) > 1 else slice(models[0], models[0] + 1)]
        candidates = (
            sent
            if work.travel.everything
            else np.stack([work.kept.whole(m, self._row(client)) for m in sent])
        )
        if kind == "validate":
            scores = [work.score(client, "validation", round, model) for model in candidates]
            samples = len(work.data(client, "validation", round)[1])
            shares = work.shares(client, round, candidates) if job["shares"] else []
            return {"client": client, "scores": _to_json(s[0] for s in scores),
                    "losses": _to_json(s[1] for s in scores), "samples": samples, "shares": shares}  # fmt: skip
        started = time.perf_counter()
        result = work.train_keeping(client, round, candidates, work.kept.memory(self._row(client)))
        if result is None:
            return {"client": client, "samples": 0}
        trained, chosen, loss, memory = result
        np.subtract(work.travel.part(trained), sent[chosen], out=self._updates.rows[job["slot"]])
        if not work.kept.nothing and not is_root(client):
            self.own.rows[client] = work.kept.row(trained, memory)
        if work.report is not None and not is_root(client):
            self._reports.rows[job["slot"]] = self._flat(work.told(client, round, candidates[chosen]))
        return {"client": client, "samples": len(work.data(client, "train", round)[1]), "chosen": chosen,
                "loss": _plain(loss), "slot": job["slot"], "seconds": time.perf_counter() - started}  # fmt: skip

    def _row(self, client: int) -> Vector:
        """What the client has kept; the server's own data has nothing of its own."""
        return self._work.kept.first_row if is_root(client) else self.own.rows[client]

    def _flat(self, report: Mapping[str, np.ndarray]) -> np.ndarray:
        """A report as one row; the gate is shown NaN where it is not of the shape that was agreed."""
        shapes = self._work.report.shapes if self._work.report else {}
        fits = {name: name in report and report[name].shape == shape for name, shape in shapes.items()}
        parts = [
            report[n].ravel() if fits[n] else np.full(int(np.prod(shape)), np.nan)
            for n, shape in shapes.items()
        ]
        return np.concatenate(parts)

    def _test_group(self, job: Job) -> Job:
        started, clients = time.perf_counter(), job["clients"]
        round, model = job["round"], self._work.whole(self._models.rows[job["row"]][None])[0]
        self.results.rows[clients, :-1] = self._work.score_many(clients, round, model)
        if self._work.goal is not None:
            self.results.rows[clients, -1] = [self._work.fooled(client, round, model) for client in clients]
        samples = int(self._test_sizes[clients].sum())
        return {"samples": samples, "seconds": time.perf_counter() - started}


def _to_json(values: Iterable[float]) -> list[float | None]:
    return [_plain(value) for value in values]


def _plain(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _from_json(values: Iterable[float | None]) -> list[float]:
    return [float("nan") if value is None else value for value in values]
