"""Steps along gradients that autograd has computed: what torch.optim.SGD and Adam do, plus the pull of FedProx."""

from collections.abc import Callable

import torch
from torch.optim.adam import adam
from torch.torch_version import TorchVersion

from flockwise.training.recipe import Recipe

_FUSED = TorchVersion(torch.__version__) >= "2.4"  # one pass over the model instead of ten
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
    """The steps of torch.optim.Adam with its own settings; its memory starts anew in every round.

    Its function and not its class, which would load torch's compiler for a second or two.
    """

    def __init__(self, parameters: list[torch.Tensor], recipe: Recipe) -> None:
        super().__init__(parameters, recipe)
        self._means = [torch.zeros_like(parameter) for parameter in parameters]
        self._squares = [torch.zeros_like(parameter) for parameter in parameters]
        self._steps = [torch.zeros((), device=parameter.device) for parameter in parameters]

    @torch.no_grad()
    def __call__(self, gradients: Gradients) -> None:
        """One step."""
        adam(
            self._parameters,
            [_laid_like(*pair) for pair in zip(self._pulled(gradients), self._parameters, strict=True)],
            self._means, self._squares, [], self._steps,
            fused=_FUSED, amsgrad=False, beta1=0.9, beta2=0.999, lr=self._recipe.learning_rate,
            weight_decay=self._recipe.weight_decay, eps=1e-8, maximize=False,
        )  # fmt: skip


def _laid_like(gradient: torch.Tensor, parameter: torch.Tensor) -> torch.Tensor:
    """Fused steps go through memory as it lies."""
    return (
        gradient if gradient.stride() == parameter.stride() else torch.empty_like(parameter).copy_(gradient)
    )
