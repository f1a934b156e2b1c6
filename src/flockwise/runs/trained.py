"""The models a run has trained, as torch modules to use."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from torch import nn

from flockwise.config.resolving import method_of
from flockwise.engine.kept import Kept
from flockwise.errors import InputError
from flockwise.models import Layout
from flockwise.models.freezing import frozen
from flockwise.models.travel import Travel
from flockwise.registry import OWN
from flockwise.rng import derived_seed
from flockwise.runs.federating import make_federation, model_factory
from flockwise.runs.recorded_config import config_of_run
from flockwise.runs.sample_shape import empty_federation
from flockwise.stages.attribution import shared
from flockwise.stages.method import Method
from flockwise.stages.personal import AS_USUAL
from flockwise.stages.stage import Setting
from flockwise.stages.state import UNPLACED, State
from flockwise.store import Run, open_run
from flockwise.store.checkpoint import state_of


def load_model(
    run: Run | str | Path, client: int | str | None = None, module: nn.Module | Callable[[], nn.Module] | None = None, *,
    flock: int | None = None, at: int | None = None, data: str | Path | None = None, method: Method | None = None,
) -> nn.Module:  # fmt: skip
    """The model that `client` (number or name) has at the end of a run, or that of a `flock`.

    Without either it is the one that most clients have. It is written into `module`, which must be of the run's
    architecture; without one, the config's model is made anew (a run of an older release needs the data set for its
    shape). `at` is an earlier round that was kept. A client's model includes what of it the client kept to itself.
    """
    run = run if isinstance(run, Run) else open_run(run)
    client = None if client is None else run.client_number(client)
    directory = Path(run.environment.get("directory", "."))
    config = config_of_run(run, directory)
    if module is None:
        if config.model.name == OWN:
            raise InputError(
                "module: this run's model was given in Python; pass one of the same architecture, as module=..."
            )
        federation = empty_federation(run)
        if federation is None and config.data.name == OWN:
            raise InputError(
                "module: this run's data was given in Python, so the shape of its samples is not known here; "
                "pass a module of the same architecture, as module=..."
            )
        federation = federation or make_federation(
            config, directory, Path(data) if data is not None else None
        )
        module = model_factory(config, federation, directory)(derived_seed(config.seed, "model"))
    made = module if isinstance(module, nn.Module) else module()
    method = method or method_of(config, directory)
    personal = method.personal or AS_USUAL
    saved = run.checkpoint(at)
    still = frozen(made, config.model.trains)[1]
    layout = Layout.of(made)
    travel = Travel.of(layout, config.model.travels, personal.head, still, layout.read(made), personal.layer)
    travel = travel.based_on(saved.get("clients/still"))
    state = state_of(saved, run.path)
    if travel.size != state.models.shape[1]:
        raise InputError(
            f"module = {type(made).__name__}: has {travel.size} numbers that travel, this run's models have "
            f"{state.models.shape[1]}; pass a module of the same architecture"
        )
    setting = Setting(config.seed, config.sampling.fraction, travel.layers)
    serve = method.serve if client is not None else shared(method.serve)  # nobody is served another's own
    models, rows = serve.assign(state, setting)
    row = _row(state, rows, client, flock)
    kept = Kept(travel, personal, layout.read(made))
    own = kept.first_row
    if client is not None and "clients/own" in saved:
        own = saved["clients/own"][client]
    travel.layout.write(made, kept.used(models[row], own))
    return made


def _row(state: State, rows: np.ndarray, client: int | None, flock: int | None) -> int:
    if client is not None and flock is not None:
        raise InputError(f"client = {client}, flock = {flock}: ask for one or the other")
    if client is not None:
        if not 0 <= client < state.clients:
            raise InputError(f"client = {client}: must lie between 0 and {state.clients - 1}")
        return int(rows[client])
    members = state.free
    if flock is not None:
        members = (state.labels == flock) & (state.labels != UNPLACED)
        if not members.any():
            there = sorted(set(state.labels[state.labels != UNPLACED].tolist()))
            raise InputError(f"flock = {flock}: has no members; flocks are {', '.join(map(str, there))}")
    return int(np.bincount(rows[members]).argmax())
