"""A model as attackers look into it: its gradients, and copies of it that were trained on."""

import copy
import hashlib
from collections.abc import Sequence

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from flockwise.attacks import DataAttack, Goal
from flockwise.attacks.contract import Poison
from flockwise.data import Federation
from flockwise.models.layout import Layout
from flockwise.rng import generator
from flockwise.training.inputs import as_tensor
from flockwise.training.modules import first_output
from flockwise.types import Vector

RATE, MOMENTUM, DECAY = 0.01, 0.9, 5e-4  # of a copy that is trained on, as in A3FL
BATCH = 256
_MOST = 32  # models whose attacks are kept


class Seen:
    """A module of its own, so that nothing of a trainer's is disturbed."""

    def __init__(self, module: nn.Module, vector: Vector | None = None) -> None:
        self._module = copy.deepcopy(module).cpu().eval()
        self._weights = [p for p in self._module.parameters() if p.requires_grad and p.dim() > 1]
        if vector is not None:
            Layout.of(self._module).write(self._module, vector)

    def gradients(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, Sequence[np.ndarray]]:
        """By the samples and by each tensor of weights; biases and scales are not among these."""
        samples = as_tensor(np.ascontiguousarray(x, dtype=np.float32)).clone().requires_grad_()
        found = torch.autograd.grad(
            self._loss(samples, as_tensor(y)), [samples, *self._weights], materialize_grads=True
        )
        return found[0].numpy(), [gradient.numpy() for gradient in found[1:]]

    def trained(self, x: np.ndarray, y: np.ndarray, epochs: int) -> tuple["Seen", Sequence[np.ndarray]]:
        """A copy after so many epochs in the order that the samples have."""
        other = Seen(self._module)
        other._module.train()
        moved = [p for p in other._module.parameters() if p.requires_grad]
        optimizer = torch.optim.SGD(moved, lr=RATE, momentum=MOMENTUM, weight_decay=DECAY)
        samples, labels = as_tensor(np.ascontiguousarray(x, dtype=np.float32)), as_tensor(y)
        for _ in range(epochs):
            for some, wanted in zip(torch.split(samples, BATCH), torch.split(labels, BATCH), strict=True):
                optimizer.zero_grad()
                other._loss(some, wanted).backward()  # type: ignore[no-untyped-call]
                optimizer.step()
        last = [torch.zeros_like(p) if p.grad is None else p.grad.detach() for p in other._weights]
        other._module.eval()
        return other, [gradient.numpy().copy() for gradient in last]

    def _loss(self, samples: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        out = self._module(samples.permute(0, 3, 1, 2) if samples.dim() == 4 else samples)
        return functional.cross_entropy(first_output(out), labels)


class MadeThrough:
    """What an attack makes of each model that its attackers hold; the last few are kept."""

    def __init__(
        self, attack: DataAttack, module: nn.Module, federation: Federation, attackers: Sequence[int], seed: int
    ) -> None:  # fmt: skip
        self._attack, self._module, self._seed = attack, module, seed
        self._classes = federation.dataset.classes
        parts = [federation.arrays(client, "train") for client in attackers]
        self._x, self._y = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
        self._made: dict[bytes, tuple[Poison, Goal]] = {}

    def of(self, model: Vector) -> tuple[Poison, Goal]:
        """Poison and goal through this model; as they are without one, where attackers hold no data at all."""
        through = self._attack.through
        if through is None or not len(self._y):
            assert self._attack.goal is not None
            return self._attack.poison, self._attack.goal
        key = hashlib.blake2b(model.tobytes(), digest_size=16).digest()
        if key not in self._made:
            rng = generator(self._seed, "made through")
            seen = Seen(self._module, model)
            self._made = dict([*self._made.items()][-_MOST + 1 :])
            self._made[key] = through(seen, self._x, self._y, self._classes, rng)
        return self._made[key]
