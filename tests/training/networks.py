"""Samples, orders and slow but sure training for the tests of the trainers."""

import copy
from functools import partial

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from flockwise.models import Layout


def samples(shape, n, classes=3, seed=0):
    """Images with the channels last, or feature vectors, and their classes."""
    random = np.random.default_rng(seed)
    return random.random((n, *shape[1:], shape[0]), dtype=np.float32), random.integers(0, classes, n)


def orders_of(n, epochs, seed=1):
    random = np.random.default_rng(seed)
    return np.stack([random.permutation(n) for _ in range(epochs)])


def vector_of(module):
    return Layout.of(module).read(module)


def plain_loop(module, x, y, orders, recipe, dtype=torch.float32):
    """The usual loop with torch.optim on a copy; the vector and the mean loss of the last epoch."""
    module = copy.deepcopy(module).to(dtype)
    images = torch.from_numpy(x).to(dtype)
    images = images.permute(0, 3, 1, 2).contiguous() if images.dim() == 4 else images
    start = [p.detach().clone() for p in module.parameters()]
    kinds = {
        "sgd": partial(torch.optim.SGD, momentum=recipe.momentum), "adam": torch.optim.Adam,
        "adamw": torch.optim.AdamW,
    }  # fmt: skip
    kind = kinds[recipe.optimizer]
    optimiser = kind(module.parameters(), lr=recipe.learning_rate, weight_decay=recipe.weight_decay)
    module.train()
    for order in orders:
        total = 0.0
        for begin in range(0, len(y), recipe.batch_size):
            batch = torch.from_numpy(order[begin : begin + recipe.batch_size])
            loss = functional.cross_entropy(module(images[batch]), torch.from_numpy(y)[batch])
            total += loss.item() * len(batch)
            for p, p0 in zip(module.parameters(), start, strict=True):
                loss = loss + recipe.proximal / 2 * ((p - p0) ** 2).sum()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    flat = [tensor.reshape(-1) for tensor in module.state_dict().values() if tensor.is_floating_point()]
    return torch.cat(flat).numpy(), total / len(y)


def relative_to_update(vector, reference, start):
    """How far two trained models are apart, in lengths of the way that training went."""
    return np.linalg.norm(vector - reference) / np.linalg.norm(reference - start)


def seeded(*layers: nn.Module, seed=0) -> nn.Module:
    """A sequential model whose weights depend on the seed alone."""
    module = nn.Sequential(*layers)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            spread = 1 / np.sqrt(parameter[0].numel()) if parameter.dim() > 1 else 0.1
            parameter.uniform_(-spread, spread, generator=generator)
    return module
