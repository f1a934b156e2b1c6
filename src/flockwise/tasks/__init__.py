"""What models are to learn: a loss, metrics, which of them is the score, and which way is better.

A new file in this folder with a function under `@task` is all it takes to add a task.

For type checkers and editors `make docs` writes the names of all files into `__init__.pyi`.
"""

from flockwise.tasks.contract import IGNORED, TASKS, Task, TaskPiece, task
from flockwise.tasks.finding import find_task, shifted

__all__ = ["IGNORED", "TASKS", "Task", "TaskPiece", "find_task", "shifted", "task"]
__all__ += [piece.function.__name__ for piece in TASKS.values()]
