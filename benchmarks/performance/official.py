"""The proof that ways did the same work: accuracy on the official test digits."""

import numpy as np

from flockwise.engine import ClientWork
from flockwise.training import choose_trainer


def accuracy(work: ClientWork, vector: np.ndarray) -> float:
    """Share of the official test digits that a model gets right."""
    x, y = work.federation.official_test()
    trainer, _ = choose_trainer(work.module, work.sample_shape, work.recipe)
    return float(trainer.losses(vector, x, y)[1] / len(y))
