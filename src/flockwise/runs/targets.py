"""Whether a data set's labels are what a task learns, and how many numbers a model has to return for it."""

from flockwise.attacks import Attack, DataAttack
from flockwise.data import Dataset
from flockwise.errors import ConfigError
from flockwise.tasks import Task


def outputs_of(task: Task, dataset: Dataset) -> int:
    """What a model by name is given as its number of classes."""
    if task.outputs is not None:
        return task.outputs
    if task.targets == "numbers" or (task.targets == "any" and dataset.y.dtype.kind == "f"):
        return dataset.y.shape[1] if dataset.y.ndim > 1 else 1
    return dataset.classes


def check_classes(task: Task, dataset: Dataset, outputs: int) -> None:
    """Refuse to make a model that could only ever say one thing."""
    if task.outputs is None and task.targets in ("class", "classes") and outputs < 2:
        raise ConfigError(
            f"task.name = {task.name!r}: needs 2 classes at least, but {dataset.name} has {outputs}; say classes=... "
            "where the data is brought, or name another task"
        )


def check_data(task: Task, dataset: Dataset) -> None:
    """Refuse labels that the task cannot learn, in a line that says what would fit."""
    kind, steps = dataset.y.dtype.kind, dataset.y.ndim
    if task.targets == "class" and (kind == "f" or steps != 1):
        held = "numbers to predict" if kind == "f" else f"{dataset.y.shape[1]} labels a sample"
        fits = "regression" if kind == "f" else "multi-label, sequence-labelling or next-token"
        raise ConfigError(f"task.name = {task.name!r}: learns one class a sample, but {dataset.name} has {held}; "
                          f"name the task, such as {fits}")  # fmt: skip
    if task.name == "binary" and dataset.classes > 2:
        raise ConfigError(
            f"task.name = 'binary': labels must be 0 and 1, but {dataset.name} has {dataset.classes} classes"
        )
    if task.targets == "classes" and (kind == "f" or steps != 2):
        raise ConfigError(
            f"task.name = {task.name!r}: learns a class for every step, but {dataset.name} has labels of shape "
            f"{dataset.y.shape}: must be (samples, steps) of whole numbers"
        )
    if task.name == "regression" and kind != "f":
        raise ConfigError(
            f"task.name = 'regression': learns numbers, but {dataset.name} has classes; a folder needs "
            "data.labels = \"numbers\", data in Python Federation.from_arrays(..., labels='numbers')"
        )
    if task.name == "multi-label" and (
        steps != 2 or dataset.y.min(initial=0) < 0 or dataset.y.max(initial=0) > 1
    ):
        raise ConfigError(
            f"task.name = 'multi-label': labels must be rows of 0 and 1, but {dataset.name} has labels of shape "
            f"{dataset.y.shape} from {dataset.y.min():g} to {dataset.y.max():g}"
        )


def check_attack(task: Task, attack: Attack | None) -> None:
    """Refuse an attack on classes where the task has none."""
    if not isinstance(attack, DataAttack):
        return
    relabels = attack.relabels and task.targets != "class"
    # How often a trigger works is told from a score for each class.
    if relabels or (attack.goal is not None and (task.targets != "class" or task.outputs is not None)):
        raise ConfigError(
            f"attack.name = {attack.name or 'own'!r}: gives samples another class, but task {task.name!r} does not have "
            "one class a sample; use noise, or an attack on updates such as reverse"
        )
