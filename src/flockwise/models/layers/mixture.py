"""Several models whose predictions are mixed."""

import torch
from torch import nn


class Mix(nn.Module):
    """How much each part counts, as logits; equal at first."""

    def __init__(self, parts: int) -> None:
        super().__init__()
        self.shares = nn.Parameter(torch.zeros(parts))

    def forward(self, scores: torch.Tensor) -> torch.Tensor:
        """The log of the parts' probabilities in the mean by shares; (parts, samples, classes) in."""
        said = torch.log_softmax(scores, -1) + torch.log_softmax(self.shares, 0)[:, None, None]
        return torch.logsumexp(said, 0)


class Mixture(nn.Module):
    """The shares come last: they are the last layer, which a client may keep to itself."""

    def __init__(self, parts: list[nn.Module]) -> None:
        super().__init__()
        self.parts = nn.ModuleList(parts)
        self.mix = Mix(len(parts))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Every part sees all of the samples."""
        mixed: torch.Tensor = self.mix(torch.stack([part(x) for part in self.parts]))
        return mixed
