"""Local training with the compiled kernels."""

import ctypes

import numpy as np
from numpy.typing import NDArray
from torch import nn

from flockwise.errors import EngineError, InputError
from flockwise.models.layout import Layout
from flockwise.training.inputs import (
    accuracies,
    as_array,
    check_lengths,
    check_order_shape,
    check_samples,
    orders_beyond,
)
from flockwise.training.memory import keep_freed_memory
from flockwise.training.native.loading import load_kernels
from flockwise.training.native.match import match
from flockwise.training.recipe import Classes, Orders, Recipe, Samples
from flockwise.types import Vector

_EVALUATION_BATCH = 256
_NO_MEMORY, _WRONG_CLASS, _WRONG_ORDER = 1, 2, 3  # `Outcome` in kernels.cpp


class _Settings(ctypes.Structure):
    """`Settings` in learner.h."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("epochs", "samples", "features", "batch")),
        *((name, ctypes.c_double) for name in ("rate", "momentum", "decay", "proximal")),
        ("optimiser", ctypes.c_int64),
    ]


_OPTIMISERS = {"sgd": 0, "adam": 1, "adamw": 2}  # `Optimiser` in update.h


def unfit_recipe(recipe: Recipe) -> str | None:
    """Why the kernels cannot follow a recipe; None if they can."""
    if recipe.optimizer not in _OPTIMISERS:
        known = ", ".join(_OPTIMISERS)
        return f"optimizer = {recipe.optimizer!r}: the kernels know {known}; an own optimiser's steps are torch's"
    if recipe.augment is not None:
        return "augment: the kernels take a client's samples as they are"
    if recipe.clip is not None:
        return f"clip = {recipe.clip:g}: the kernels step where a gradient comes into being, before its length is known"
    return None


class NativeTrainer:
    """Trains models of one architecture in C++; see `Trainer` for the contract.

    A call runs on one thread without Python's lock and keeps nothing between calls.
    """

    least = 1

    def __init__(self, module: nn.Module, sample_shape: tuple[int, ...]) -> None:
        self._found = match(module, sample_shape)
        keep_freed_memory()
        self._library, self.instructions = load_kernels()
        layers, mix = self._found.layers, self._found.mix
        each = len(layers) if mix is None else len(layers) // int(mix[0])
        self._matched = (_pointer(layers), ctypes.c_int64(each), None if mix is None else _pointer(mix))
        self._size = Layout.of(module).size
        self._sample_shape = tuple(sample_shape)
        self.classes = int(self._found.layers[-1][4])

    def train(
        self, vector: Vector, x: Samples, y: Classes, orders: Orders, recipe: Recipe
    ) -> tuple[Vector, float]:
        """See `Trainer.train`."""
        samples, classes = self._check(vector, x, y)
        check_order_shape(orders, len(y), recipe)
        unfit = unfit_recipe(recipe)
        if unfit:
            raise InputError(f"{unfit}; use GenericTrainer")
        result = np.array(vector, dtype=np.float32, order="C")
        settings = _Settings(
            recipe.epochs,
            len(y),
            samples[0].size,
            min(recipe.batch_size, len(y)),
            recipe.rate,
            recipe.momentum,
            recipe.weight_decay,
            recipe.proximal,
            _OPTIMISERS[recipe.optimizer],
        )
        loss = ctypes.c_double()
        order = np.ascontiguousarray(orders, dtype=np.int64)
        factors = recipe.factors(recipe.epochs * -(-len(y) // settings.batch))
        rates = None if factors is None else recipe.rate * np.array(factors)
        outcome = self._call(
            "flockwise_train", settings, result, samples, classes, order, rates, ctypes.byref(loss)
        )
        if outcome == _WRONG_ORDER:
            raise orders_beyond(order, len(y))
        self._refuse(outcome, classes)
        return result, loss.value

    def losses(self, vector: Vector, x: Samples, y: Classes) -> tuple[float, int]:
        """See `Trainer.losses`."""
        losses, correct = self.losses_each(vector, x, y, np.array([len(y)]))
        return float(losses[0]), int(correct[0])

    def losses_each(
        self, vector: Vector, x: Samples, y: Classes, lengths: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """See `Trainer.losses_each`."""
        samples, classes = self._check(vector, x, y)
        check_lengths(lengths, len(y))
        settings = _Settings(1, len(y), samples[0].size, min(_EVALUATION_BATCH, len(y)), 0, 0, 0, 0, 0)
        losses, correct = np.zeros(len(lengths)), np.zeros(len(lengths), dtype=np.int64)
        model = np.ascontiguousarray(vector, dtype=np.float32)
        parts = np.ascontiguousarray(lengths, dtype=np.int64)
        clients = ctypes.c_int64(len(parts))
        outcome = self._call(
            "flockwise_evaluate", settings, model, samples, classes, parts, clients, losses, correct
        )
        self._refuse(outcome, classes)
        return losses, correct

    def measures(
        self, vector: Vector, x: Samples, y: Classes, lengths: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """See `Trainer.measures`."""
        return accuracies(*self.losses_each(vector, x, y, lengths), lengths)

    def _check(self, vector: Vector, x: Samples, y: Classes) -> tuple[NDArray, NDArray]:
        check_samples(x, y, self._sample_shape)
        if vector.shape != (self._size,):
            raise InputError(f"vector of shape {vector.shape}: this model needs ({self._size},)")
        return as_array(x, np.float32), as_array(y, np.int64)

    def _call(self, name: str, settings: _Settings, *arguments: object) -> int:
        rest = [_pointer(a) if isinstance(a, np.ndarray) else a for a in arguments]
        outcome: int = getattr(self._library, name)(*self._matched, ctypes.byref(settings), *rest)
        return outcome

    def _refuse(self, outcome: int, classes: NDArray) -> None:
        """Say what the kernels would not do; they look at every class anyway."""
        if outcome == _WRONG_CLASS:
            raise InputError(
                f"y reaches from {classes.min()} to {classes.max()}: must be 0 to {self.classes - 1}"
            )
        if outcome == _NO_MEMORY:
            raise EngineError("the kernels ran out of memory; use a smaller batch_size")


def _pointer(array: NDArray) -> ctypes.c_void_p:
    # array.ctypes.data is the same number at three times the price
    return ctypes.c_void_p(array.__array_interface__["data"][0] if array.size else None)
