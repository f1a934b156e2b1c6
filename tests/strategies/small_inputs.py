"""Small inputs that the authors' public code was run on beside ours; `published/` has what it gave for them."""

import numpy as np

SIZE = 6 * 5 + 5 + 5 * 3 + 3  # of a model with six inputs, five hidden units and three classes


def drawn(seed):
    return np.random.Generator(np.random.Philox(seed))


def two_kinds(clients=6, samples=12):
    """Samples of clients of two kinds, in turn, that name what they see differently."""
    rng = drawn(41)
    x = rng.normal(size=(clients, samples, 6)).astype(np.float32)
    teacher = rng.normal(size=(6, 3))
    y = (x @ teacher).argmax(axis=2)
    y[1::2] = (y[1::2] + 1) % 3
    return x, y


def models(count=2, seed=52, size=SIZE):
    return (0.5 * drawn(seed).normal(size=(count, size))).astype(np.float32)


def updates_of_kinds(clients=9, kinds=3, size=20, noise=0.5, seed=43):
    """Rows about one direction for each kind, all directions orthogonal; client i is of kind i modulo `kinds`."""
    rng = drawn(seed)
    centres = 2.0 * np.linalg.qr(rng.normal(size=(size, kinds)))[0].T
    return (centres[np.arange(clients) % kinds] + noise * rng.normal(size=(clients, size)) / 2).astype(
        np.float32
    )


def losses_of_two_levels(rounds=300, clients=16, drawn_each=4):
    """Who is drawn in each round, what each of them loses, and how many samples each client has."""
    rng = drawn(44)
    who = np.stack([np.sort(rng.choice(clients, drawn_each, replace=False)) for _ in range(rounds)])
    losses = 1.0 + (who % 2) + 0.1 * rng.normal(size=who.shape)
    return who, losses, rng.integers(20, 60, size=clients)


# FedDrift: the kind of each client at four looks. Client 5 turns into a new kind before the second, client 1 into the same
# before the third.
KINDS = [[0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 2, 3], [0, 3, 1, 1, 2, 3], [0, 3, 1, 1, 2, 3]]
# At the fourth the models of kinds 1 and 2 do nearly as well for each other, and data of kind 3 is hard for everybody:
# model 0 does little worse on it than its own model does, but much worse than at home.
AT_LAST = {(1, 2): 0.8, (2, 1): 0.8, (0, 3): 0.55, (3, 3): 0.65, (3, 0): 0.85}


def accuracy(of_model, of_data, look):
    """Of a model that has learned one kind, on data of another."""
    usual = 0.9 if of_model == of_data else 0.2
    return AT_LAST.get((of_model, of_data), usual) if look == 3 else usual


LAYERS = ((0, 30), (30, 35), (35, 50), (50, SIZE))


def models_of_kinds(clients=9):
    """Models of clients of three kinds, in turn, that have moved from one beginning."""
    rng = drawn(46)
    first, moves = rng.normal(size=SIZE), 0.25 * rng.normal(size=(3, SIZE))
    return (first + moves[np.arange(clients) % 3] + 0.05 * rng.normal(size=(clients, SIZE))).astype(
        np.float32
    )


def latents_of_kinds(clients=9, samples=40):
    """What a model sees in clients' samples, of four classes; kinds 1 and 2 see or name some of them otherwise."""
    rng = drawn(48)
    centres = 1.0 + rng.uniform(size=(4, 7))
    y = np.stack([rng.permutation(np.arange(samples) % 4) for _ in range(clients)])
    x = centres[y] + 0.1 * rng.normal(size=(clients, samples, 7))
    x[1::3] += 0.5 * centres[0]
    y[2::3] = 3 - y[2::3]
    return x, y
