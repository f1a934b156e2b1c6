"""A task as it may be said: by name, with options, as an object; and sequences made ready for one."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from flockwise.errors import ConfigError, PluginError
from flockwise.options import resolved
from flockwise.plugins import find
from flockwise.tasks.contract import IGNORED, TASKS, Task, TaskPiece


def find_task(name: str, options: Mapping[str, Any], directory: Path | None = None) -> Task:
    """The task of a config; `module:name` is a Task, or a function of options that returns one."""
    spelled = name.replace("_", "-") if ":" not in name else name
    found = find("tasks", spelled, TASKS, directory)
    if isinstance(found, TaskPiece):
        return found(**options)
    made = found
    if not isinstance(found, Task):
        if not callable(found):
            raise PluginError(f"tasks: {name!r} is a {type(found).__name__}: must be a flockwise.Task")
        made = found(**resolved(found, options, prefix="task."))
    elif options:
        raise ConfigError(f"task.{next(iter(options))}: unknown key; {name!r} takes no options")
    if not isinstance(made, Task):
        raise PluginError(f"tasks: {name!r} made a {type(made).__name__}: must be a flockwise.Task")
    return made


def shifted(tokens: Any) -> tuple[np.ndarray, np.ndarray]:
    """Sequences of tokens as samples and labels of `next_token`: each step's label is the token one step on.

    `tokens` is (sequences, steps); a label of -100 in the last place is the padding of shorter ones and stays.

    >>> shifted([[1, 2, 3]])[1].tolist()
    [[2, 3]]
    """
    whole = np.asarray(tokens)
    x, y = whole[:, :-1], whole[:, 1:].astype(np.int64)
    return np.where(x == IGNORED, 0, x), y
