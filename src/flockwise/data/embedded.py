"""The embedded data set: scikit-learn's 1,797 handwritten digits of 8 x 8 pixels (UCI, CC BY 4.0)."""

from functools import cache

import numpy as np

from flockwise.data.dataset import Dataset
from flockwise.rng import generator

TRAIN = 1437  # 80 %, rounded down


@cache
def load_digits() -> Dataset:
    """The digits in one fixed shuffled order, the first 1,437 for training, 360 for testing.

    The set has no official split; the order comes from a fixed seed, so it is the same everywhere.
    """
    import sklearn.datasets  # here, because importing it takes most of a second

    images, labels = sklearn.datasets.load_digits(return_X_y=True)
    order = generator(0, "digits").permutation(len(labels))
    x = images.reshape(-1, 8, 8, 1).astype(np.uint8)[order]
    y = labels.astype(np.int64)[order]
    x.flags.writeable = y.flags.writeable = False
    return Dataset("digits", x, y, TRAIN, 16.0, 10, tuple("0123456789")).registered_as("digits")
