"""Steps along gradients that autograd has computed: what torch.optim.SGD and Adam do, plus the pull of FedProx."""

from collections.abc import Callable
from functools import partial

import torch

from flockwise.training.recipe import Recipe

Gradients = tuple[torch.Tensor, ...]


def steps_of(parameters: list[torch.Tensor], recipe: Recipe) -> Callable[[Gradients], None]:
    """What moves the parameters; it may overwrite the gradients it gets."""
    return (Adam if recipe.optimizer == "adam" else Descent)(parameters, recipe)


class _Steps:
    def __init__(self, parameters: list[torch.Tensor], recipe: Recipe) -> None:
        self._parameters = parameters
        self._recipe = recipe
        self._start = [p.detach().clone() for p in parameters] if recipe.proximal else []

    def _pulled(self, gradients: Gradients) -> list[torch.Tensor]:
        """The gradients, and the pull towards the starting point."""
        if not self._recipe.proximal:
            return list(gradients)
        drift = torch._foreach_add(self._parameters, self._start, alpha=-1)
        return list(torch._foreach_add(list(gradients), drift, alpha=self._recipe.proximal))


class Descent(_Steps):
    """The steps of torch.optim.SGD, without its overhead."""

    def __init__(self, parameters: list[torch.Tensor], recipe: Recipe) -> None:
        super().__init__(parameters, recipe)
        self._velocity: list[torch.Tensor] = []

    @torch.no_grad()
    def __call__(self, gradients: Gradients) -> None:
        """One step."""
        recipe, moves = self._recipe, self._pulled(gradients)
        if recipe.weight_decay:
            moves = list(torch._foreach_add(moves, self._parameters, alpha=recipe.weight_decay))
        if recipe.momentum:
            if self._velocity:
                torch._foreach_mul_(self._velocity, recipe.momentum)
                torch._foreach_add_(self._velocity, moves)
            else:
                self._velocity = [move.clone() for move in moves]
            moves = self._velocity
        torch._foreach_add_(self._parameters, moves, alpha=-recipe.learning_rate)


class Adam(_Steps):
    """The steps of torch.optim.Adam with its own settings; its memory starts anew in every round."""

    def __init__(self, parameters: list[torch.Tensor], recipe: Recipe) -> None:
        super().__init__(parameters, recipe)
        make = partial(torch.optim.Adam, lr=recipe.learning_rate, weight_decay=recipe.weight_decay)
        try:  # one pass over the model instead of ten
            self._optimiser = make(parameters, fused=True)
        except RuntimeError:  # before torch 2.4 only on graphics cards
            self._optimiser = make(parameters)

    @torch.no_grad()
    def __call__(self, gradients: Gradients) -> None:
        """One step."""
        for parameter, gradient in zip(self._parameters, self._pulled(gradients), strict=True):
            same = gradient.stride() == parameter.stride()  # memory is gone through as it lies
            parameter.grad = gradient if same else torch.empty_like(parameter).copy_(gradient)
        self._optimiser.step()
        self._optimiser.zero_grad()
