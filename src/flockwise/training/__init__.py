"""Local training: the work of one client in one round, on one core."""

from flockwise.training.choose import choose_trainer
from flockwise.training.recipe import SGD, Adam, Recipe, Trainer

__all__ = ["SGD", "Adam", "Recipe", "Trainer", "choose_trainer"]
