"""Steps along gradients that autograd has computed: what torch.optim does, plus the pull of FedProx and clipping."""

import inspect
from typing import Any

import torch
from torch.optim.adam import adam
from torch.torch_version import TorchVersion

from flockwise.errors import InputError
from flockwise.training.recipe import Make, Recipe

_FUSED = TorchVersion(torch.__version__) >= "2.4"  # one pass over the model instead of ten
Gradients = tuple[torch.Tensor, ...]


def steps_of(parameters: list[torch.Tensor], recipe: Recipe) -> "Steps":
    """What moves the parameters; it may overwrite the gradients it gets."""
    if recipe.make is not None:
        return Made(parameters, recipe, recipe.make)
    return (Descent if recipe.optimizer == "sgd" else Adam)(parameters, recipe)


class Steps:
    """What all ways to step share: the rate of the step at hand, and what is done to gradients first."""

    def __init__(self, parameters: list[torch.Tensor], recipe: Recipe) -> None:
        self._parameters = parameters
        self._recipe = recipe
        self._start = [p.detach().clone() for p in parameters] if recipe.proximal else []
        self.pace = 1.0  # what this step multiplies the round's rate by

    @property
    def rate(self) -> float:
        """The learning rate of the step at hand."""
        return self._recipe.rate * self.pace

    def __call__(self, gradients: Gradients) -> None:
        """One step."""
        raise NotImplementedError

    def _moves(self, gradients: Gradients) -> list[torch.Tensor]:
        """The gradients with the pull towards the starting point, and no longer than they may be."""
        moves = list(gradients)
        if self._recipe.proximal:
            drift = torch._foreach_add(self._parameters, self._start, alpha=-1)
            moves = list(torch._foreach_add(moves, drift, alpha=self._recipe.proximal))
        if self._recipe.clip is not None and moves:
            length = torch.stack(torch._foreach_norm(moves)).double().norm()
            if float(length) > self._recipe.clip:  # NaN is no longer than anything, and stays
                moves = list(torch._foreach_mul(moves, self._recipe.clip / float(length)))
        return moves


class Descent(Steps):
    """The steps of torch.optim.SGD, without its overhead."""

    def __init__(self, parameters: list[torch.Tensor], recipe: Recipe) -> None:
        super().__init__(parameters, recipe)
        self._velocity: list[torch.Tensor] = []

    @torch.no_grad()
    def __call__(self, gradients: Gradients) -> None:
        """One step."""
        recipe, moves = self._recipe, self._moves(gradients)
        if recipe.weight_decay:
            moves = list(torch._foreach_add(moves, self._parameters, alpha=recipe.weight_decay))
        if recipe.momentum:
            if self._velocity:
                torch._foreach_mul_(self._velocity, recipe.momentum)
                torch._foreach_add_(self._velocity, moves)
            else:
                self._velocity = [move.clone() for move in moves]
            moves = self._velocity
        torch._foreach_add_(self._parameters, moves, alpha=-self.rate)


class Adam(Steps):
    """The steps of torch.optim.Adam or AdamW with its own settings; its memory starts anew in every round.

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
        moves, decay = self._moves(gradients), self._recipe.weight_decay
        if self._recipe.optimizer == "adamw":  # decay beside the step, not inside its averages
            if decay:
                torch._foreach_mul_(self._parameters, 1 - self.rate * decay)
            decay = 0.0
        adam(
            self._parameters,
            [_laid_like(*pair) for pair in zip(moves, self._parameters, strict=True)],
            self._means, self._squares, [], self._steps,
            fused=_FUSED, amsgrad=False, beta1=0.9, beta2=0.999, lr=self.rate, weight_decay=decay, eps=1e-8,
            maximize=False,
        )  # fmt: skip


class Made(Steps):
    """The steps of an optimiser that the user makes; its own rates, times what the schedules say."""

    def __init__(self, parameters: list[torch.Tensor], recipe: Recipe, make: Make) -> None:
        super().__init__(parameters, recipe)
        self._optimizer = made_optimizer(make, parameters, recipe)
        self._rates = [group.get("lr", 0.0) for group in self._optimizer.param_groups]

    def __call__(self, gradients: Gradients) -> None:
        """One step."""
        with torch.no_grad():
            moves = self._moves(gradients)
        for parameter, move in zip(self._parameters, moves, strict=True):
            parameter.grad = move.detach()
        for group, rate in zip(self._optimizer.param_groups, self._rates, strict=True):
            group["lr"] = rate * self._recipe.factor * self.pace
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)


def made_optimizer(make: Make, parameters: list[torch.Tensor], recipe: Recipe) -> torch.optim.Optimizer:
    """What a user's function makes of the parameters; InputError if it is no optimiser that can be stepped."""
    name = f"training.optimizer = {recipe.optimizer!r}"
    takes = set(inspect.signature(make).parameters) & {"lr", "learning_rate"}
    rate: dict[str, Any] = dict.fromkeys(takes, recipe.learning_rate)
    try:
        made = make(parameters, **rate)
    except Exception as error:
        raise InputError(f"{name}: cannot be made: {type(error).__name__}: {error}") from error
    if not isinstance(made, torch.optim.Optimizer):
        raise InputError(f"{name}: made a {type(made).__name__}, not a torch.optim.Optimizer")
    closure = inspect.signature(made.step).parameters.get("closure")
    if closure is not None and closure.default is closure.empty:
        raise InputError(
            f"{name}: needs to see the loss several times a step, which clients cannot; use another"
        )
    return made


def _laid_like(gradient: torch.Tensor, parameter: torch.Tensor) -> torch.Tensor:
    """Fused steps go through memory as it lies."""
    return (
        gradient if gradient.stride() == parameter.stride() else torch.empty_like(parameter).copy_(gradient)
    )
