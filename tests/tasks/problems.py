"""Small real problems, a task each, dealt out to a few clients."""

import numpy as np
from sklearn import datasets

import flockwise as fw

CLIENTS = 4


def _dealt(x, y, **more):
    order = np.random.default_rng(0).permutation(len(y))
    samples = []
    for held in np.array_split(order, CLIENTS):
        cut = len(held) * 3 // 4
        samples.append(((x[held[:cut]], y[held[:cut]]), (x[held[cut:]], y[held[cut:]])))
    return fw.Federation.from_arrays(samples, validation=0.2, **more)


def _scaled(x):
    return ((x - x.mean(axis=0)) / x.std(axis=0)).astype(np.float32)


def diabetes():
    """Progression of a disease, in standard deviations."""
    x, y = datasets.load_diabetes(return_X_y=True)
    return _dealt(_scaled(x), _scaled(y), labels="numbers")


def breast_cancer():
    """Malignant or benign."""
    x, y = datasets.load_breast_cancer(return_X_y=True)
    return _dealt(_scaled(x), y)


def several_labels():
    """Made: three labels, each a question of its own about eight features."""
    x, y = datasets.make_multilabel_classification(400, 8, n_classes=3, n_labels=2, random_state=0)
    return _dealt(_scaled(x), y.astype(np.float32), labels="numbers")


def parity_of_steps():
    """Made: sequences of numbers whose label is their sign; some are shorter, their ends ignored."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(240, 6)).astype(np.float32)
    y = (x > 0).astype(np.int64)
    y[np.arange(6) >= rng.integers(3, 7, 240)[:, None]] = -100
    return _dealt(x, y, classes=2)


TEXT = "the quick brown fox jumps over the lazy dog while the small cat sleeps in the warm sun. " * 12
SIGNS = sorted(set(TEXT))


def next_character():
    """A tiny text, eight characters at a time."""
    tokens = np.array([SIGNS.index(sign) for sign in TEXT])
    windows = np.lib.stride_tricks.sliding_window_view(tokens, 9)[::2]
    return _dealt(*fw.tasks.shifted(windows), classes=len(SIGNS), inputs="tokens")
