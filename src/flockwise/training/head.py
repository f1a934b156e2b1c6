"""The last linear layer and the loss behind it without autograd, which for small models costs more than the model."""

import copy

import torch
from torch import nn
from torch.nn import functional

from flockwise.training.stepping import SteppingLinear, is_hooked


class Head:
    """The end of an `nn.Sequential`: a linear layer whose results are logits. `body` is all before it."""

    def __init__(self, module: nn.Sequential) -> None:
        self.layer: nn.Linear = list(module)[-1]  # type: ignore[assignment]
        self.body = copy.copy(module)  # with the same layers, and a class that may know faster ways
        self.body._modules = dict(list(module._modules.items())[:-1])

    def gradients(
        self, images: torch.Tensor, classes: torch.Tensor, parameters: list[torch.Tensor]
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, ...]]:
        """Logits, classes by images, and the gradients of their mean cross-entropy."""
        features = self.body(images)
        weight, bias = self.layer.weight, self.layer.bias
        with torch.no_grad():
            # Classes by images: this way around all products are fast for few classes.
            products = weight @ features.t()
            logits = products if bias is None else products.add_(bias[:, None])
            slope = torch.softmax(logits, 0)
            slope.scatter_add_(0, classes[None], slope.new_full((1, 1), -1.0).expand(1, len(classes)))
            slope.div_(len(classes))
            found = {id(weight): slope @ features, id(bias): slope.sum(1)}
            back = slope.t() @ weight if features.requires_grad else None
        before = [parameter for parameter in parameters if id(parameter) not in found]
        if before:
            rest = torch.autograd.grad(features, before, back, materialize_grads=True)
            found |= {id(parameter): gradient for parameter, gradient in zip(before, rest, strict=True)}
        return logits, tuple(found[id(parameter)] for parameter in parameters)


def head_of(module: nn.Module, flat: bool) -> Head | None:
    """The head, where a module ends in a linear layer on rows that nothing else uses.

    `flat`: samples are rows themselves; images must pass `nn.Flatten`.
    """
    if not isinstance(module, nn.Sequential) or not len(module) or not _runs_in_order(module):
        return None
    *before, last = module
    if type(last) not in (nn.Linear, SteppingLinear) or not (flat or nn.Flatten in map(type, before)):
        return None
    own = {id(parameter) for parameter in last.parameters()}
    shared = any(id(parameter) in own for layer in before for parameter in layer.parameters())
    return None if shared or is_hooked(module) or is_hooked(last) else Head(module)


def _runs_in_order(module: nn.Sequential) -> bool:
    """Whether `forward` is one layer after the other: a subclass may do something else, our own do not."""
    kind = type(module)
    return kind.forward is nn.Sequential.forward or kind.__module__.startswith(f"{__package__}.")


def loss_sum(logits: torch.Tensor, classes: torch.Tensor) -> torch.Tensor:
    """Cross-entropy of logits, classes by images, added up."""
    return functional.cross_entropy(logits.t(), classes, reduction="sum")
