import os
import signal
from dataclasses import replace

import numpy as np
import pytest

from flockwise.data import Federation
from flockwise.engine import ClientWork, LocalEngine, local
from flockwise.engine.arena import Arena
from flockwise.engine.pool import Pool
from flockwise.errors import EngineError, InputError
from flockwise.messages import Plan, Task
from flockwise.models import Layout, build
from flockwise.training import Recipe


def _federation(empty: bool = False) -> Federation:
    rng = np.random.default_rng(0)
    clients = []
    for size in (30, 12, 40, 25):
        x = rng.random((size, 4, 4, 1)).astype(np.float32)
        y = (x.mean(axis=(1, 2, 3)) > 0.5).astype(int)
        clients.append(((x, y), (x[:5], y[:5])))
    federation = Federation.from_arrays(clients, classes=2)
    if not empty:
        return federation
    nothing = replace(federation.shards[0], train=np.zeros(0, np.int64))
    return Federation(federation.dataset, (*federation.shards, nothing))


def _engine(workers: int, empty: bool = False) -> LocalEngine:
    module = build("softmax", (1, 4, 4), 2, seed=0)
    return LocalEngine(ClientWork(_federation(empty), module, Recipe(2, 8, 0.5)), workers)


def _plan(kind: str = "train", models: int = 1, clients: int = 4) -> Plan:
    size = Layout.of(build("softmax", (1, 4, 4), 2, seed=0)).size
    rows = np.random.default_rng(1).normal(0, 0.1, (models, size)).astype(np.float32)
    tasks = tuple(Task(client, tuple(range(models))) for client in range(clients))
    return Plan(1, kind, rows, tasks)  # type: ignore[arg-type]


def test_replies_come_in_order_and_do_not_depend_on_workers() -> None:
    answers = []
    for workers in range(1, 9):
        engine = _engine(workers)
        answers.append(engine.train(_plan()))
        engine.close()
    for other in answers[1:]:
        assert other.clients.tolist() == [0, 1, 2, 3]
        for column in ("updates", "samples", "losses", "chosen", "origins"):
            assert getattr(answers[0], column).tobytes() == getattr(other, column).tobytes()


def test_a_light_plan_is_carried_out_here_to_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = _engine(2)
    sent = []
    run = engine._pool.run  # type: ignore[union-attr]
    monkeypatch.setattr(engine._pool, "run", lambda jobs: sent.append(len(jobs)) or run(jobs))
    by_workers = engine.train(_plan())
    assert engine._pace < float("inf")
    engine._pace = 0.0  # whatever else the machine does
    here = engine.train(_plan())
    assert sent == [4]
    assert by_workers.updates.tobytes() == here.updates.tobytes()
    engine._pace = 1.0  # a second a sample: worth a message
    engine.train(_plan())
    engine.close()
    assert sent == [4, 4]


def test_a_client_that_is_offered_several_models_trains_the_best() -> None:
    engine = _engine(1)
    plan = _plan(models=3)
    replies = engine.train(plan)
    work = engine._work
    for client, chosen in zip(replies.clients.tolist(), replies.chosen.tolist(), strict=True):
        x, y = work.data(client, "train", 1)
        losses = [work._trainer.losses(model, x, y)[0] for model in plan.models]
        assert chosen == int(np.argmin(losses))


def test_validation_scores_every_model() -> None:
    engine = _engine(1)
    for scores in engine.validate(_plan("validate", models=2)):
        assert len(scores.values) == len(scores.losses) == 2


def test_a_client_without_training_data_is_missing_from_the_answer() -> None:
    engine = _engine(1, empty=True)
    assert engine.train(_plan(clients=5)).clients.tolist() == [0, 1, 2, 3]


def test_only_changed_models_are_tested_again(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, tested = _engine(1), []
    handle = engine._handle
    monkeypatch.setattr(engine, "_handle", lambda job: tested.extend(job.get("clients", [])) or handle(job))
    models = _plan(models=2).models
    first = engine.evaluate(1, models, np.array([0, 0, 1, 1]))
    assert tested == [0, 1, 2, 3]
    second = engine.evaluate(2, models, np.array([0, 1, 1, 1]))
    assert tested == [0, 1, 2, 3, 1]
    assert first.score[0] == second.score[0]
    plan = _plan(models=2)
    jobs = engine.train(plan)  # with the same models
    changed = plan.models.copy()
    changed[1, -1] += jobs.updates[0, -1] + 1
    third = engine.evaluate(3, changed, np.array([0, 1, 1, 1]))
    assert tested == [0, 1, 2, 3, 1, 1, 2, 3]
    assert third.loss[0] == second.loss[0] and (third.loss[1:] != second.loss[1:]).all()
    engine.evaluate(4, models, np.array([0, 1, 1, 1]))
    assert tested == [0, 1, 2, 3, 1, 1, 2, 3, 1, 2, 3]


def test_a_worker_that_dies_is_an_error_that_says_what_to_do() -> None:
    pool = Pool(2, lambda job: os.kill(os.getpid(), signal.SIGKILL) or {})  # type: ignore[func-returns-value]
    with pytest.raises(EngineError, match="resume the run"):
        list(pool.run([{"job": 1}, {"job": 2}]))
    pool.close()


def test_a_worker_that_fails_says_why_and_lives_on() -> None:
    def handler(job: dict[str, int]) -> dict[str, int]:
        return {"answer": 10 // job["number"]}

    pool = Pool(2, handler)
    with pytest.raises(EngineError, match=r"^a worker failed: ZeroDivisionError"):
        list(pool.run([{"number": 0}]))
    assert sorted(answer["answer"] for answer in pool.run([{"number": n} for n in (1, 2, 5)])) == [2, 5, 10]
    pool.close()


def test_what_a_worker_refuses_is_told_in_its_own_words() -> None:
    def handler(job: dict[str, int]) -> dict[str, int]:
        raise InputError("model.width = 3: must be even")

    pool = Pool(1, handler)
    with pytest.raises(EngineError, match=r"^model.width = 3: must be even$"):
        list(pool.run([{}]))
    pool.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_to_the_whole_group_is_the_parents_business(number: signal.Signals) -> None:
    pool = Pool(2, lambda job: os.kill(os.getpid(), number) or {"done": True})  # type: ignore[func-returns-value]
    assert list(pool.run([{"job": 1}, {"job": 2}])) == [{"done": True}, {"done": True}]
    pool.close()


def test_shared_memory_leaves_no_name_behind() -> None:
    before = set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set()
    arena = Arena(4, 3)
    arena.rows[2] = 7
    after = set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set()
    assert before == after
    assert arena.rows.sum() == 21


def test_memory_given_back_can_be_used_again_and_later_rows_keep_theirs() -> None:
    arena = Arena(3, 300_001)  # rows that do not end on a page
    arena.rows[:] = np.arange(3, dtype=np.float32)[:, None] + 1
    arena.free(2)
    assert (arena.rows[2] == 3).all()
    arena.rows[0] = 5
    assert (arena.rows[0] == 5).all()


def test_replies_outlive_the_shared_memory_of_their_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_MUCH", 0)
    engine, kept = _engine(2), _engine(1)
    found, expected = engine.train(_plan()), kept.train(_plan())
    engine.train(_plan())
    engine.close()
    assert found.updates.tobytes() == expected.updates.tobytes()


def test_a_round_is_copied_out_of_shared_memory_a_part_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, whole = _engine(2), _engine(2)
    expected = whole.train(_plan())
    size = engine._updates.rows.shape[1]
    monkeypatch.setattr(local, "_PART", 4 * size)  # one row
    taken: list[int] = []

    class Watched(np.ndarray):
        def __getitem__(self, index: object) -> np.ndarray:
            if isinstance(index, list):
                taken.append(len(index))
            return np.asarray(self).__getitem__(index)

    monkeypatch.setattr(engine._updates, "rows", engine._updates.rows.view(Watched))
    replies = engine.train(_plan())
    np.testing.assert_array_equal(replies.updates, expected.updates)
    assert taken and max(taken) == 1
    engine.close()
    whole.close()


def test_light_tests_are_shared_with_this_process_to_the_same_bits() -> None:
    size = Layout.of(build("softmax", (1, 4, 4), 2, seed=0)).size
    models = np.random.default_rng(2).normal(0, 1, (4, 2, size)).astype(np.float32)
    rows = np.array([0, 1, 0, 1])
    alone, shared = _engine(1), _engine(2)
    for round, pair in enumerate(models, start=1):  # from the second on the pace is known
        expected, found = (engine.evaluate(round, pair, rows) for engine in (alone, shared))
        assert expected.score.tobytes() == found.score.tobytes()
        assert expected.loss.tobytes() == found.loss.tobytes()
    shared.close()
