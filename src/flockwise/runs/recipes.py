"""The recipe of local training that a config says, with what of it only Python can make."""

from pathlib import Path

from flockwise import plugins
from flockwise.config import Config
from flockwise.config.resolving import schedules_of
from flockwise.errors import ConfigError
from flockwise.registry import OWN
from flockwise.training import Recipe
from flockwise.training.recipe import BUILT_IN


def recipe_of(config: Config, directory: Path | None, brought: Recipe | None = None) -> Recipe:
    """The recipe; functions that have no name in a config are those of the recipe that the user brought."""
    section = config.training
    said = section.model_dump(exclude={"schedule", "step_schedule", "augment"})
    augment = brought.augment if brought is not None else None
    if section.augment == OWN and augment is None:
        raise ConfigError(
            "training.augment = 'own': this run was given it in Python; pass it again, as in "
            "flockwise.resume(path, training=...)"
        )
    if augment is None and section.augment is not None:
        augment = plugins.find("augmentations", section.augment, {}, directory)
    make = brought.make if brought is not None else None
    if section.optimizer == OWN and make is None:
        raise ConfigError(
            "training.optimizer = 'own': this run was given its optimiser in Python; pass it again, as in "
            "flockwise.resume(path, training=...)"
        )
    if make is None and section.optimizer not in BUILT_IN:
        make = plugins.find("optimizers", section.optimizer, {}, directory)
        if not callable(make):
            raise ConfigError(
                f"training.optimizer = {section.optimizer!r}: must be a function of the parameters that returns a "
                "torch optimiser"
            )
    return Recipe(
        **said,
        schedule=schedules_of(section.schedule, directory),
        step_schedule=schedules_of(section.step_schedule, directory, "training.step_schedule"),
        make=make,
        augment=augment,
    )
