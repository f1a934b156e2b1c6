"""What a run's trained model says of new samples."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from flockwise.config.learning import task_of
from flockwise.data.encoding import encoded_like
from flockwise.data.formats import DAMAGED, read_npy, why
from flockwise.errors import DataError, InputError
from flockwise.runs.recorded_config import config_of_run
from flockwise.runs.sample_shape import Samples, samples_on_record
from flockwise.store import Run
from flockwise.tasks import Task
from flockwise.training.modules import first_output

if TYPE_CHECKING:
    from flockwise.data.table_files import Table

_BATCH = 1024


@dataclass(frozen=True)
class Predictions:
    """What the task makes of the model's outputs, by sample; with the names of classes, and how sure it is of each."""

    values: np.ndarray
    labels: list[str] | None = None  # of a task of classes: what they are called
    probability: np.ndarray | None = None  # of the class that was chosen
    names: tuple[str, ...] = ()  # of several numbers a sample

    def columns(self) -> dict[str, list[Any]]:
        """As a table."""
        if self.labels is not None:
            found: dict[str, list[Any]] = {"prediction": self.labels}
            if self.probability is not None:
                found["probability"] = [round(float(value), 6) for value in self.probability]
            return found
        flat = self.values.reshape(len(self.values), -1)
        if flat.shape[1] == 1:
            return {"prediction": flat[:, 0].tolist()}
        known = self.names if len(self.names) == flat.shape[1] else range(flat.shape[1])
        return {f"prediction_{name}": flat[:, place].tolist() for place, name in enumerate(known)}


def predict(run: Run, model: nn.Module, x: Any, task: Task | None = None) -> Predictions:
    """What a model of this run says of samples as clients hold them: images (n, height, width, channels), rows of a table.

    Whole numbers are scaled as in training, floats are taken as they are. `task` is needed where the run
    was given its task in Python.
    """
    told = samples_on_record(run)
    if told is None:
        raise InputError(
            f"{run.path}: does not say what its samples are like; it was made by an older release"
        )
    directory = Path(run.environment.get("directory", "."))
    goal = task or task_of(config_of_run(run, directory), directory)
    samples = torch.from_numpy(_ready(x, told))
    if samples.dim() == 4:
        samples = samples.permute(0, 3, 1, 2)
    outputs = list(_outputs(model, samples, goal.whole))
    values = np.concatenate([goal.predict(part).numpy() for part in outputs]) if outputs else np.zeros(0)
    if goal.targets != "class" or not told.classes:
        said = run.config.get("data", {}).get("target")
        return Predictions(values, names=tuple(map(str, said)) if isinstance(said, list) else ())
    if values.dtype.kind == "f":  # binary: the probability of the second class
        chosen: np.ndarray = (values > 0.5).astype(np.int64)
        sure = np.maximum(values, 1 - values)
    else:
        chosen = values
        sure = (
            np.concatenate([part.softmax(1).max(1).values.numpy() for part in outputs]) if outputs else values
        )
    names = told.class_names or [str(number) for number in range(told.classes)]
    return Predictions(values, [names[number] for number in chosen.tolist()], sure)


def read_samples(path: Path, told: Samples) -> np.ndarray:
    """Samples in a file: .npy as an array, .csv or .parquet by the names of the columns that were trained on."""
    if path.suffix == ".npy":
        try:
            return read_npy(path.read_bytes(), path.name)
        except DAMAGED as error:
            raise DataError(f"{path}: cannot be read as an array: {why(error)}") from error
    from flockwise.data.table_files import ENDINGS, read_table

    if path.suffix.lower() not in ENDINGS:
        raise DataError(f"{path}: must end in .npy, {' or '.join(ENDINGS)}")
    return _from_table(read_table(path), path, told)


def _from_table(table: "Table", path: Path, told: Samples) -> np.ndarray:
    wanted = told.columns or table.column_names
    table = encoded_like(table, wanted, path)
    missing = [name for name in wanted if name not in table.column_names]
    if missing:
        raise DataError(f"{path}: has no column {missing[0]!r}; the model was trained on {', '.join(wanted)}")
    columns = [table[name] for name in wanted]
    for name, column in zip(wanted, columns, strict=True):
        gaps = told.prepared is not None and told.prepared.impute
        if column.dtype.kind not in "biuf" or not (np.isfinite(column) | (gaps & np.isnan(column))).all():
            raise DataError(
                f"{path}: column {name!r} holds something else than numbers; fill it in, or leave rows out"
            )
    return np.stack([np.asarray(column, dtype=np.float64) for column in columns], axis=1)


def _ready(x: Any, told: Samples) -> np.ndarray:
    """Samples as a module takes them, checked and scaled."""
    try:
        found = np.asarray(x)
    except ValueError:
        found = np.asarray(None)
    shape = tuple(told.shape)
    if found.dtype.kind not in "biuf" or found.ndim < 1:
        raise InputError(
            f"x = {type(x).__name__} of {found.dtype}: must be numbers, (samples, {_sizes(shape)})"
        )
    if found.shape[1:] != shape and found.size == len(found) * int(np.prod(shape)):
        found = found.reshape(len(found), *shape)  # images as rows of pixels
    if found.shape[1:] != shape:
        raise InputError(f"x = {found.shape}: must be (samples, {_sizes(shape)}), as this run was trained on")
    if told.prepared is not None:
        done = told.prepared.preparation()
        found = found if done is None else done.of(found)
    if found.dtype.kind == "f" and not np.isfinite(found).all():
        raise InputError("x: holds NaN or infinite values; fill them in, or leave those samples out")
    if told.tokens:
        return found.astype(np.int64)
    scale = told.maximum if found.dtype.kind in "biu" else 1.0  # floats are taken as they are
    return (found.astype(np.float32) / np.float32(scale)).astype(np.float32)


def _sizes(shape: tuple[int, ...]) -> str:
    return ", ".join(map(str, shape))


def _outputs(model: nn.Module, samples: torch.Tensor, whole: bool) -> Iterator[Any]:
    model.eval()
    with torch.inference_mode():
        for part in torch.split(samples, _BATCH) if len(samples) else ():
            returned = model(part)
            yield returned if whole else first_output(returned)
