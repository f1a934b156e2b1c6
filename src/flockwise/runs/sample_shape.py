"""What a run's samples are like, kept so that its model can be made and used without the data."""

from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from flockwise.data import Dataset, Federation, Shard
from flockwise.data.preparing import Preparation, preparation
from flockwise.errors import InputError
from flockwise.store import Run

_SAMPLES = "samples"  # in environment.json
_MOST = 1 << 24


class Prepared(BaseModel):
    """What was done to the features of a table before training, and is done to every sample that is predicted."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore", allow_inf_nan=False)

    impute: bool
    standardise: bool
    fitted: list[list[float]] = Field(max_length=_MOST)

    def preparation(self) -> Preparation | None:
        """The same, to use."""
        return preparation(self.impute, self.standardise, self.fitted)


class Samples(BaseModel):
    """The shape of a sample and of its label, and what the numbers mean."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")

    shape: list[int] = Field(min_length=1, max_length=8)
    tokens: bool = False
    maximum: float = Field(1.0, gt=0, allow_inf_nan=False)
    columns: list[str] = []
    classes: int = Field(0, ge=0, lt=_MOST)
    class_names: list[str] = []
    labels: list[int] = []  # the shape of a sample's label; [] is one
    numbers: bool = False  # labels are numbers to predict
    prepared: Prepared | None = None  # what was done to the features

    def nobodys(self) -> Dataset:
        """A data set of this kind with nothing in it."""
        x = np.zeros((0, *self.shape), np.int64 if self.tokens else np.float32)
        y = np.zeros((0, *self.labels), np.float32 if self.numbers else np.int64)
        return Dataset(
            "on record", x, y, 0, self.maximum, self.classes, tuple(self.class_names), columns=tuple(self.columns),
            tokens=self.tokens,
        )  # fmt: skip


def samples_told(federation: Federation) -> dict[str, Any]:
    """For the record of a new run."""
    return {_SAMPLES: _of(federation.dataset).model_dump()}


def samples_on_record(found: Run) -> Samples | None:
    """What a run says of its samples; None for one of an older release, and for anything that makes no sense."""
    try:
        told = Samples.model_validate(found.environment.get(_SAMPLES))
    except ValidationError:
        return None
    sizes = [*told.shape, *told.labels]
    return told if all(0 < size < _MOST for size in sizes) else None


def empty_federation(found: Run) -> Federation | None:
    """Nobody's data of the run's kind, to make its model for; None where the run does not say."""
    told = samples_on_record(found)
    nothing = np.zeros(0, dtype=np.int64)
    return None if told is None else Federation(told.nobodys(), (Shard(nothing, nothing, nothing),))


def refuse_other_samples(found: Run, federation: Federation) -> None:
    """Refuse data that a run's models were not trained for: other columns, another shape, other labels."""
    before, now = samples_on_record(found), _of(federation.dataset)
    words = {
        "columns": "columns", "shape": "shape of a sample", "class_names": "labels", "classes": "number of labels",
        "labels": "shape of a label", "numbers": "kind of label", "tokens": "kind of sample",
    }  # fmt: skip
    for key, word in words.items():
        if before is not None and getattr(before, key) != getattr(now, key):
            raise InputError(
                f"clients: the {word} must be {_some(getattr(before, key))}, as in {found.path.name}, not "
                f"{_some(getattr(now, key))}; its models know no others"
            )


def _of(data: Dataset) -> Samples:
    return Samples(
        shape=list(data.x.shape[1:]), tokens=bool(data.tokens), maximum=float(data.maximum), columns=list(data.columns),
        classes=int(data.classes), class_names=list(data.class_names), labels=list(data.y.shape[1:]),
        numbers=data.y.dtype.kind == "f", prepared=_prepared(data),
    )  # fmt: skip


def _prepared(data: Dataset) -> Prepared | None:
    done = data.prepare
    if done is None:
        return None
    return Prepared(
        impute=done.impute, standardise=done.standardise, fitted=[list(pair) for pair in done.fitted]
    )


def _some(value: Any) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= 80 else text[:77] + "..."
