"""What models are to learn: a loss, metrics, which of them is the score, and which way is better.

A new file in this folder with a function under `@task` is all it takes to add a task.
"""

from typing import TYPE_CHECKING, Any

from flockwise.tasks.binary import binary
from flockwise.tasks.classification import classification
from flockwise.tasks.contract import IGNORED, TASKS, Task, TaskPiece, task
from flockwise.tasks.finding import find_task, shifted
from flockwise.tasks.multi_label import multi_label
from flockwise.tasks.regression import regression
from flockwise.tasks.sequences import next_token, sequence_labelling

__all__ = [
    "IGNORED",
    "TASKS",
    "Task",
    "TaskPiece",
    "binary",
    "classification",
    "find_task",
    "multi_label",
    "next_token",
    "regression",
    "sequence_labelling",
    "shifted",
    "task",
]

if not TYPE_CHECKING:  # for a type checker only the names above exist

    def __getattr__(name: str) -> Any:
        return TASKS.exported(name)
