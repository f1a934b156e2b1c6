"""What clients learn and how: the sections `task` and `training`, checked and filled in."""

from pathlib import Path
from typing import Any

from flockwise import plugins
from flockwise.config.sections import Config
from flockwise.errors import ConfigError, InputError, PluginError
from flockwise.registry import OWN
from flockwise.schedules import Schedule, schedules_from
from flockwise.tasks import Task, find_task

OPTIMIZERS = ("sgd", "adam", "adamw")
_SCHEDULES = ("schedule", "step_schedule")


def resolved_task(config: Config, directory: Path | None) -> Config:
    """The config with all options of its task."""
    if config.task.name == OWN:
        return config
    made = task_of(config, directory)
    options = dict(made.options) if made.name != OWN else config.task.parameters
    named = made.name if made.name != OWN else config.task.name
    return config.model_copy(update={"task": type(config.task).model_validate({**options, "name": named})})


def task_of(config: Config, directory: Path | None) -> Task:
    """The task of a config."""
    if config.task.name == OWN:
        raise ConfigError(
            "task.name = 'own': this run was given its task in Python; pass it again, as in "
            "flockwise.resume(path, task=...)"
        )
    try:
        return find_task(config.task.name, config.task.parameters, directory)
    except InputError as error:
        raise ConfigError(f"task: {error}") from error


def resolved_training(config: Config, directory: Path | None) -> Config:
    """The config with schedules in full; an optimiser or augmentation that nobody can find is told here."""
    section = config.training
    known = section.optimizer in OPTIMIZERS
    if not known and section.optimizer != OWN:
        if ":" not in section.optimizer:
            raise ConfigError(
                f"training.optimizer = {section.optimizer!r}: must be {', '.join(OPTIMIZERS)} or module:function"
            )
        plugins.find("optimizers", section.optimizer, {}, directory)
    if section.optimizer != "sgd" and section.momentum:
        raise ConfigError(
            f"training.momentum = {section.momentum}: is for training.optimizer = 'sgd'; "
            f"{section.optimizer} has its own, leave it out"
        )
    if not known and section.weight_decay:
        raise ConfigError(
            f"training.weight_decay = {section.weight_decay}: is for training.optimizer = "
            f"{', '.join(OPTIMIZERS)}; say it to the optimiser of your own"
        )
    if section.augment not in (None, OWN):
        if ":" not in section.augment:
            raise ConfigError(f"training.augment = {section.augment!r}: must be module:function")
        plugins.find("augmentations", section.augment, {}, directory)
    said = {name: schedules_of(getattr(section, name), directory, f"training.{name}") for name in _SCHEDULES}
    # Over how many rounds is written down, so that a run that is given more later keeps the rates it had.
    said["schedule"] = tuple(each.over(config.rounds) for each in said["schedule"])
    lists = {name: [each.section() for each in found] for name, found in said.items()}
    return config.model_copy(
        update={"training": type(section).model_validate({**section.model_dump(), **lists})}
    )


def schedules_of(said: Any, directory: Path | None, field: str = "training.schedule") -> tuple[Schedule, ...]:
    """The schedules of a config; one that only Python could make again is left out."""
    steps = [step if isinstance(step, str) else {"name": step.name, **step.parameters} for step in said]
    try:
        return schedules_from(steps, directory)
    except PluginError as error:
        raise ConfigError(f"{field}: {error}") from error
    except InputError as error:
        raise ConfigError(f"{field}: {error}") from error
