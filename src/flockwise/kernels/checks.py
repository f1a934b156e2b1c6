"""What every kernel asks of its input before it computes."""

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from flockwise.errors import InputError
from flockwise.kernels import stored
from flockwise.kernels.stored import Matrix, StoredRows
from flockwise.types import Updates, Vector, Weights


def as_updates(values: Any, name: str = "updates") -> Updates:
    """The values as a C-contiguous float32 matrix (a copy only if they are not one); finiteness unchecked."""
    if isinstance(values, np.ndarray) and values.dtype == np.float32 and values.flags.c_contiguous:
        matrix = values
    else:
        matrix = _converted(values, name)
    if matrix.ndim != 2 or matrix.shape[0] == 0 or matrix.shape[1] == 0:
        raise InputError(
            f"{name} of shape {matrix.shape}: must be (clients, parameters), both at least 1; stack one row "
            "for each client"
        )
    return matrix


def as_rows(values: Any) -> Matrix:
    """The same for who reads a block at a time: rows that lie on disk stay there, unless they are no more than a block."""
    if isinstance(values, StoredRows) and len(values) and values.nbytes > stored.BLOCK_BYTES:
        return values
    return as_updates(values)


def as_vector(values: Any, size: int, name: str) -> Vector:
    """The values as a finite float32 vector of the given size."""
    vector = _converted(values, name)
    if vector.shape != (size,):
        raise InputError(f"{name} of shape {vector.shape}: must be ({size},), one value for each parameter")
    if not np.isfinite(vector).all():
        raise InputError(f"{name}[{_first_bad(vector)}] is not finite in float32: drop or repair it first")
    return vector


def as_weights(values: Any, clients: int) -> Weights:
    """The weights as float64 that sum to one; all equal when `values` is None."""
    if values is None:
        return np.full(clients, 1.0 / clients)
    try:
        weights = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError("weights: must be numbers, one for each client") from error
    if weights.shape != (clients,):
        raise InputError(f"weights of shape {weights.shape}: must be ({clients},), one for each client")
    largest = weights.max(initial=0.0)
    if not (weights.min(initial=0.0) >= 0 and largest < np.inf):  # NaN is neither
        bad = int(np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))[0])
        raise InputError(f"weights[{bad}] = {weights[bad]}: must be finite and not negative")
    if largest == 0:
        raise InputError("weights: must not all be zero; give at least one client a share")
    # Dividing by the largest first keeps the sum finite for weights near the top of float64.
    weights = weights / largest
    return np.asarray(weights / weights.sum())


def as_radius(value: float, name: str = "radius") -> float:
    """A finite number above zero."""
    number = float(value)
    if not (np.isfinite(number) and number > 0):
        raise InputError(f"{name} = {value}: must be a finite number above 0, such as the median norm")
    return number


def as_count(value: int, name: str, low: int, high: int | None = None) -> int:
    """A whole number from `low` to `high`."""
    if isinstance(value, bool) or int(value) != value:
        raise InputError(f"{name} = {value}: must be a whole number")
    number = int(value)
    if number < low or (high is not None and number > high):
        allowed = f"at least {low}" if high is None else f"from {low} to {high}"
        raise InputError(f"{name} = {value}: must be {allowed}")
    return number


def need_clients(clients: int, needed: int, f: int, rule: str, fix: str = "sample more clients") -> None:
    """Refuse a rule that cannot stand `f` attackers among so few clients."""
    if clients < needed:
        raise InputError(f"f = {f}: {rule} needs at least {needed} clients, got {clients}; lower f or {fix}")


def refuse_not_finite(updates: Matrix, name: str = "updates") -> None:
    """Name the first client with a NaN or Inf, if there is one."""
    for client, row in enumerate(updates):
        finite = np.isfinite(row)
        if not finite.all():
            _refuse(name, client, row, int(np.argmin(finite)))


def _refuse(name: str, client: int, row: Vector, place: int) -> NoReturn:
    raise InputError(
        f"{name}[{client}, {place}] = {row[place]}: must be finite in float32; leave client {client} out"
    )


def _converted(values: Any, name: str) -> NDArray[np.float32]:
    try:
        # A float64 beyond the float32 range becomes Inf here and is refused with the other infinities.
        with np.errstate(over="ignore"):
            return np.ascontiguousarray(np.asarray(values), dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}: must be numbers in rows of equal length") from error


def _first_bad(vector: Vector) -> int:
    return int(np.argmin(np.isfinite(vector)))
