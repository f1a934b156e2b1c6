"""How a client sees its samples: another sensor, another light, another noise."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flockwise.rng import generator


class View(NamedTuple):
    """What is done to every feature: times `contrast`, plus `brightness`, plus noise."""

    contrast: float = 1.0
    brightness: float = 0.0
    noise: float = 0.0  # standard deviation

    def seen(self, x: NDArray[Any], client: int, part: str) -> NDArray[np.float32]:
        """The samples as the client sees them; the noise of a sample is the same every time."""
        changed = x.astype(np.float32) * np.float32(self.contrast) + np.float32(self.brightness)
        if self.noise:
            drawn = generator(0, f"view/{part}", client).standard_normal(x.shape, dtype=np.float32)
            changed += np.float32(self.noise) * drawn
        return changed


AS_IT_IS = View()
