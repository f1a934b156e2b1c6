"""Checks and views of the arrays that trainers are given."""

import numpy as np
import torch
from numpy.typing import NDArray

from flockwise.errors import InputError
from flockwise.tasks import Task
from flockwise.training.recipe import Classes, Orders, Recipe, Samples


class _WritableClaim:
    """Shares an array's memory and calls it writable: torch warns about read-only memory it never writes."""

    def __init__(self, array: NDArray) -> None:
        self.owner = array
        description = dict(array.__array_interface__)
        description["data"] = (description["data"][0], False)
        self.__array_interface__ = description


def as_tensor(array: NDArray | torch.Tensor) -> torch.Tensor:
    """The same memory as a tensor; it must not be written to."""
    if isinstance(array, torch.Tensor):
        return array
    return torch.from_numpy(array if array.flags.writeable else np.asarray(_WritableClaim(array)))


def as_array(samples: NDArray | torch.Tensor, dtype: type | None) -> NDArray:
    """The same memory as a row-major array; copied only where type (if any is asked for) or order differ."""
    array = samples.detach().cpu().numpy() if isinstance(samples, torch.Tensor) else samples
    return np.ascontiguousarray(array, dtype=dtype)


def check_samples(x: Samples, y: Classes, sample_shape: tuple[int, ...], task: Task | None = None) -> None:
    """Refuse samples that are not (n, height, width, channels) or (n, ...) as the model needs them."""
    expected = (*sample_shape[1:], sample_shape[0]) if len(sample_shape) == 3 else sample_shape
    if tuple(x.shape[1:]) != expected:
        raise InputError(f"x of shape {tuple(x.shape)}: must be (n, {', '.join(map(str, expected))})")
    one_each = task is None or task.targets == "class"
    if len(y) != len(x) or not len(y) or (one_each and y.ndim != 1):
        wanted = "one class a sample" if one_each else "an entry a sample"
        raise InputError(f"y of shape {tuple(y.shape)}: must be ({x.shape[0]},) and not empty, {wanted}")


def accuracies(
    losses: NDArray[np.float64], correct: NDArray[np.int64], lengths: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Accuracy and loss of each part, as rows of `Trainer.measures`; NaN for one without samples."""
    rows = np.stack([correct / np.maximum(lengths, 1), losses], axis=1)
    rows[lengths == 0] = np.nan
    return rows


def check_orders(orders: Orders, samples: int, recipe: Recipe) -> None:
    """Refuse orders that are not one row of sample numbers for each epoch."""
    check_order_shape(orders, samples, recipe)
    if orders.min() < 0 or orders.max() >= samples:
        raise orders_beyond(orders, samples)


def check_order_shape(orders: Orders, samples: int, recipe: Recipe) -> None:
    """Refuse orders that are not one row of whole numbers for each epoch."""
    if orders.shape != (recipe.epochs, samples):
        raise InputError(
            f"orders of shape {orders.shape}: must be (epochs, n) = ({recipe.epochs}, {samples})"
        )
    _check_whole_numbers("orders", orders)


def orders_beyond(orders: Orders, samples: int) -> InputError:
    """What is said of orders that name samples which are not there."""
    return InputError(f"orders reach from {orders.min()} to {orders.max()}: must be 0 to {samples - 1}")


def check_lengths(lengths: NDArray[np.int64], samples: int) -> None:
    """Refuse lengths of clients' parts that do not add up to the samples."""
    _check_whole_numbers("lengths", lengths)
    if lengths.ndim != 1 or (lengths < 0).any() or int(lengths.sum()) != samples:
        raise InputError(
            f"lengths add up to {int(lengths.sum())}: must be non-negative and add up to {samples}"
        )


def _check_whole_numbers(name: str, array: NDArray[np.int64]) -> None:
    if array.dtype.kind not in "iu":
        raise InputError(f"{name} of type {array.dtype}: must be whole numbers")
