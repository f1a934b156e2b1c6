"""Local training: the work of one client in one round, on one core."""

from flockwise.training.choose import choose_trainer
from flockwise.training.optimizers import SGD, Adam, AdamW, Optimizer
from flockwise.training.recipe import Recipe, Trainer

__all__ = ["SGD", "Adam", "AdamW", "Optimizer", "Recipe", "Trainer", "choose_trainer"]
