"""Sample counts are claims: how far they are believed."""

from dataclasses import replace

import numpy as np

from flockwise.aggregation import mean
from flockwise.messages import Replies
from flockwise.server import Server
from flockwise.stages import Method, average, chain, everyone, train
from flockwise.stages.batch import believed


def test_a_claimed_count_is_believed_up_to_so_many_medians() -> None:
    counts = np.array([10.0, 1000.0, 20.0])
    assert believed(counts, 5.0).tolist() == [10, 100, 20]
    assert believed(counts, None).tolist() == [10, 1000, 20]


def test_the_share_of_one_client_is_bounded_whatever_it_claims() -> None:
    random = np.random.default_rng(0)
    for _ in range(10_000):
        clients, cap = int(random.integers(2, 30)), float(random.uniform(1.0, 10.0))
        counts = random.integers(1, 10 ** int(random.integers(1, 8)), size=clients).astype(np.float64)
        counts[int(random.integers(clients))] = 10.0 ** random.uniform(0, 7)
        weights = believed(counts, cap)
        assert weights.max() / weights.sum() <= cap / (cap + clients // 2) + 1e-12


def test_a_liar_in_a_flock_of_small_samples_does_not_take_its_mean() -> None:
    server = Server(Method(chain(train(everyone), average(mean()))), np.zeros((1, 4), np.float32), clients=6)
    two = np.zeros((2, 4), np.float32)
    server.state = replace(server.state, models=two, labels=np.array([0, 0, 0, 1, 1, 1]))
    plan = server.ask()
    updates = np.zeros((6, 4), np.float32)
    updates[5] = 1.0
    samples = np.array([100_000, 100_000, 100_000, 10, 10, 10_000_000])
    nothing = np.zeros(6, np.int64)
    server.tell(
        Replies(plan.round, np.arange(6), updates, samples, nothing, np.zeros(6), np.full((6, 3), np.nan))
    )
    np.testing.assert_allclose(server.state.models[1], 5 / 7, rtol=1e-6)
