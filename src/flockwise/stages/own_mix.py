"""Models that all clients share, in a mix that is each client's own (FedEM)."""

from dataclasses import dataclass, field

import numpy as np

from flockwise.stages.personal import LocalTraining, Personal
from flockwise.types import Vector

LEAST = 1e-6  # of a share, so that a model that fits nothing today may fit something later


@dataclass(frozen=True)
class OwnMix(Personal):
    """The shares of a mixture stay with the client: told anew from its data, then the models learn under them.

    The gradient of a mixture's loss by the logits of its shares is share less responsibility, in the mean over samples:
    it says what share of the samples each model is responsible for, and takes one pass forward through each model.
    """

    layer: str = field(default="mix", kw_only=True)

    def train(self, local: LocalTraining, model: Vector, memory: Vector) -> tuple[Vector, Vector, float]:
        """The step of expectation for the shares, then the models as usual."""
        here, model = local.kept, model.copy()
        powers = np.exp(model[here].astype(np.float64) - model[here].max())
        responsible = powers / powers.sum() - local.gradient(model, "kept")[here]
        model[here] = np.log(np.maximum(responsible, LEAST))
        trained, loss = local.fit(model, "sent")
        return trained, memory, loss
