"""The layers of the small transformer."""

import torch
from torch import nn
from torch.nn import functional


class LowRank(nn.Module):
    """A linear layer that stays as it is, and a thin one beside it that learns (LoRA); at first it adds nothing."""

    def __init__(self, layer: nn.Linear, rank: int) -> None:
        super().__init__()
        self.layer = layer.requires_grad_(False)
        self.down = nn.Parameter(torch.randn(rank, layer.in_features) / layer.in_features**0.5)
        self.up = nn.Parameter(torch.zeros(layer.out_features, rank))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The layer's result, and the product of the two thin matrices."""
        result: torch.Tensor = self.layer(x) + x @ self.down.t() @ self.up.t()
        return result


class Block(nn.Module):
    """Attention to the steps before, then a perceptron; each adds to what comes in."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.asked: nn.Module = nn.Linear(width, 3 * width)
        self.joined: nn.Module = nn.Linear(width, width)
        self.thought = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(samples, steps, width) in and out."""
        samples, steps, width = x.shape
        parts = self.asked(self.before(x)).view(samples, steps, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.joined(seen.transpose(1, 2).reshape(samples, steps, width))
        result: torch.Tensor = x + self.thought(self.between(x))
        return result


class Transformer(nn.Module):
    """Scores of every step from the tokens up to it."""

    def __init__(self, steps: int, vocabulary: int, classes: int, width: int, depth: int, heads: int) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(steps, width)
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(depth)])
        self.last, self.out = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """(samples, steps) whole numbers in, (samples, steps, classes) out."""
        x = self.tokens(tokens.long()) + self.places.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        scores: torch.Tensor = self.out(self.last(x))
        return scores

    def add_low_rank(self, rank: int) -> None:
        """Let only low-rank updates of attention's projections train from now on."""
        self.requires_grad_(False)
        for block in self.blocks:
            assert isinstance(block, Block)
            block.asked, block.joined = (LowRank(part, rank) for part in (block.asked, block.joined))  # type: ignore[arg-type]
