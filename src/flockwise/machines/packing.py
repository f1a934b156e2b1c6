"""What a node is sent to make the clients' work: the config, or, where only Python knows a part of it, the objects."""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from flockwise.config import parse_config
from flockwise.engine.client_work import ClientWork, WorkSource
from flockwise.runs.remaking import only_in_python, work_of
from flockwise.runs.same_data import data_marks
from flockwise.stages.personal import AS_USUAL

_PROBED = 20  # clients, the smallest first, of which one has enough data to train


def packed(work: ClientWork) -> tuple[str, dict[str, Any] | None]:
    """The config as text; the objects of the work too, if the config does not say all."""
    source = work.source
    if source is None or _says_too_little(source, work):
        return "", {field.name: getattr(work, field.name) for field in fields(work)}
    places = {
        "directory": str((source.directory or Path()).resolve()),
        "data": source.data and str(source.data.resolve()),
    }
    return json.dumps({"config": source.config, **places}), None


def unpacked(source: str, objects: Mapping[str, Any] | None) -> ClientWork:
    """The work on a node; folders that it does not have are its own instead."""
    if objects is not None:
        return ClientWork(**objects)
    said = json.loads(source)
    directory = Path(said["directory"]) if Path(said["directory"]).is_dir() else Path.cwd()
    own = os.environ.get("FLOCKWISE_DATA")
    data = said["data"] if said["data"] and Path(said["data"]).is_dir() else own
    config = parse_config(said["config"], directory=directory)
    return work_of(config, directory, Path(data) if data else None)


def data_digest(work: ClientWork) -> str:
    """What must be the same on every node."""
    return hashlib.sha256(json.dumps(data_marks(work.federation)).encode()).hexdigest()


def training_digest(work: ClientWork) -> str:
    """The bits that one client's training gives here: they tell other processors, compilers and libraries."""
    sizes = work.federation.sizes("train")
    for client in np.argsort(sizes, kind="stable")[np.searchsorted(np.sort(sizes), 1) :][:_PROBED].tolist():
        trained = work.train(client, 1, work.first[None])
        if trained is not None:
            return hashlib.sha256(trained[0].tobytes()).hexdigest()
    return ""


def _says_too_little(source: WorkSource, work: ClientWork) -> bool:
    config = parse_config(source.config, directory=source.directory)
    asks = work.report is not None or work.personal != AS_USUAL
    return bool(only_in_python(config)) or (asks and "own" in (config.strategy.name, config.aggregation.name))
