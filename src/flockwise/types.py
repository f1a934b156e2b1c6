"""The array types that the parts hand to each other."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Vector: TypeAlias = NDArray[np.float32]  # (parameters,) one model or one update
Updates: TypeAlias = NDArray[np.float32]  # (clients, parameters) local model minus the model it was sent
Models: TypeAlias = NDArray[np.float32]  # (flocks, parameters)
Square: TypeAlias = NDArray[np.float64]  # (clients, clients) similarities or distances
Labels: TypeAlias = NDArray[np.int64]  # (clients,) flock of each client
Clients: TypeAlias = NDArray[np.int64]  # client numbers
Rows: TypeAlias = NDArray[np.int64]  # (clients,) row of each client in a matrix of models
Mask: TypeAlias = NDArray[np.bool_]  # (clients,)
Weights: TypeAlias = NDArray[np.float64]  # (clients,) non-negative
