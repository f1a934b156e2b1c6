"""Small inputs that the authors' code of FLDetector was run on beside ours; fldetector.json has what it gave for them."""

import numpy as np


def gradients_over_rounds(rounds=16, clients=8, size=12, rate=0.1):
    """Gradients of clients that each pull to a place of their own, of quadratic losses; client 7 turns its own round."""
    rng = np.random.Generator(np.random.Philox(61))
    stretch, places, model = (
        rng.uniform(0.5, 2.0, size=size),
        rng.normal(size=(clients, size)),
        np.zeros(size),
    )
    for number in range(rounds):
        gradients = stretch * (model - places) + 0.01 * rng.normal(size=(clients, size))
        gradients[7] *= (-1) ** number
        yield gradients.astype(np.float32)
        model = model - rate * gradients.mean(axis=0)


def scores_of_clients():
    """Of a hundred clients: all of one kind; 28 of them far off; five further still."""
    rng = np.random.Generator(np.random.Philox(62))
    alike = 1.0 + 0.1 * rng.normal(size=100)
    for far, many in ((0.0, 0), (1.5, 28), (4.0, 5)):
        scores = alike.copy()
        scores[:many] += far
        yield scores / scores.sum()
