"""Linear layers that take their step of gradient descent while the gradients flow back."""

from collections import Counter
from typing import Any

import torch
from torch import nn
from torch.nn import functional

LARGE = 1 << 16  # weights; below, the gradient fits the caches and nothing is gained


class SteppingLinear(nn.Linear):
    """A linear layer that subtracts `rate` times its gradient from its own weights, unless `rate` is None.

    A large layer spends much of its time on writing the gradient to memory and reading it again. Here the
    product is added to the weights at once. The bias gets a gradient as usual.
    """

    rate: float | None = None

    @property
    def moved(self) -> list[torch.Tensor]:
        """What gets no gradient if there is a rate."""
        return [self.weight]

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """The same values as `nn.Linear`."""
        if self.rate is None or not torch.is_grad_enabled():
            return functional.linear(inputs, self.weight, self.bias)
        result: torch.Tensor = SteppingProduct.apply(inputs, self.weight, self.bias, self.rate)  # type: ignore[no-untyped-call]
        return result


class SteppingProduct(torch.autograd.Function):
    """A linear function whose weights move by `rate` times their gradient on the way back."""

    @staticmethod
    def forward(
        ctx: Any, inputs: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None, rate: float
    ) -> torch.Tensor:
        """As `functional.linear`."""
        ctx.save_for_backward(inputs, weight)
        ctx.rate = rate
        return functional.linear(inputs, weight, bias)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """Gradients of all but the weights."""
        inputs, weight = ctx.saved_tensors
        gradient = gradients[0].reshape(-1, weight.shape[0])
        back = (gradient @ weight).view(inputs.shape) if ctx.needs_input_grad[0] else None
        weight.addmm_(gradient.t(), inputs.reshape(-1, weight.shape[1]), alpha=-ctx.rate)
        return back, None, gradient.sum(0) if ctx.needs_input_grad[2] else None, None


def use_stepping(module: nn.Module) -> list[SteppingLinear]:
    """Replace, in place, the large linear layers that can take their own step; the replacements.

    A layer must be used once in a forward pass, or its weights would change before all gradients have passed:
    only layers in nested `nn.Sequential` whose parameters no other module holds.
    """
    found, unshared = [], unshared_parameters(module)
    for layer in leaves(module):
        if type(layer) is nn.Linear and _fits(layer) and id(layer.weight) in unshared:
            layer.__class__ = SteppingLinear
            assert isinstance(layer, SteppingLinear)
            found.append(layer)
    return found


def unshared_parameters(module: nn.Module) -> set[int]:
    """The ids of the parameters that only one module holds."""
    holders = Counter(id(parameter) for _, parameter in module.named_parameters(remove_duplicate=False))
    return {parameter for parameter, count in holders.items() if count == 1}


def leaves(module: nn.Module) -> list[nn.Module]:
    """The layers of nested `nn.Sequential`; of another module only itself."""
    if not isinstance(module, nn.Sequential) or type(module).forward is not nn.Sequential.forward:
        return [module]
    return [leaf for child in module for leaf in leaves(child)]


def is_hooked(layer: nn.Module) -> bool:
    """Whether somebody wants to see what passes."""
    hooks = (layer._forward_hooks, layer._forward_pre_hooks, layer._backward_hooks, layer._backward_pre_hooks)
    return any(hooks)


def _fits(layer: nn.Linear) -> bool:
    trained = layer.weight.requires_grad and layer.bias is not None and layer.bias.requires_grad
    # Without a gradient of its own that is asked for, autograd would not come by the first layer.
    return trained and layer.weight.numel() >= LARGE and not is_hooked(layer)
