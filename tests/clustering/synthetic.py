"""Updates of clients in groups, as training gives them: mostly noise, of lengths that differ."""

import numpy as np


def grouped_updates(sizes, same=0.652, different=0.993, seed=0, spread=0.15, lengths=0.15, parameters=4000):
    """Updates whose mean cosine distance is about `same` within and `different` across the groups.

    `spread` makes some clients noisier than others, `lengths` some updates longer. Returns the updates and
    the group of each client, shuffled.
    """
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(len(sizes)), sizes)
    direction = rng.normal(size=(len(sizes), parameters)) * np.sqrt(different - same)
    common = rng.normal(size=parameters) * np.sqrt(1 - different)
    signal = np.exp(rng.normal(size=(len(truth), 1)) * spread)
    noise = np.sqrt(same) * rng.normal(size=(len(truth), parameters))
    updates = (direction[truth] + common) * signal + noise / signal
    updates *= np.exp(rng.normal(size=parameters) * 0.8)
    updates *= np.exp(rng.normal(size=(len(truth), 1)) * lengths)
    order = rng.permutation(len(truth))
    return updates[order], truth[order]


def cosine_distances(updates):
    unit = updates / np.linalg.norm(updates, axis=1, keepdims=True)
    distance = np.maximum(1 - unit @ unit.T, 0)
    np.fill_diagonal(distance, 0)
    return (distance + distance.T) / 2
