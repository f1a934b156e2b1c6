"""Modularity from its formula, and the best partition by trying all."""

import numpy as np


def modularity(weights, labels, resolution=1.0):
    """Newman's modularity of a symmetric matrix without self-loops, pair by pair."""
    strength, total = weights.sum(axis=1), weights.sum()
    value = 0.0
    for i in range(len(weights)):
        for j in range(len(weights)):
            if labels[i] == labels[j]:
                value += weights[i, j] - resolution * strength[i] * strength[j] / total
    return value / total


def partitions(count):
    """Every partition of `count` clients as labels."""
    if count == 0:
        yield []
        return
    for rest in partitions(count - 1):
        for label in range(max(rest, default=-1) + 2):
            yield [*rest, label]


def best_modularity(weights, resolution=1.0):
    """The highest modularity of any partition."""
    return max(modularity(weights, np.array(labels), resolution) for labels in partitions(len(weights)))
