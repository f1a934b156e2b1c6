"""The models a run has trained, as torch modules to use."""

from pathlib import Path

import numpy as np
from torch import nn

from flockwise.config import parse_config
from flockwise.errors import InputError
from flockwise.models import Layout
from flockwise.pieces.state import State
from flockwise.simulation.assembly import bind_rule, layers_of, make_federation, make_method, make_module
from flockwise.store import Run, open_run
from flockwise.strategies import Setting


def load_model(
    run: Run | str | Path, client: int | None = None, module: nn.Module | None = None, *,
    at: int | None = None, data: str | Path | None = None,
) -> nn.Module:  # fmt: skip
    """The model that `client` has at the end of a run (without a client: the one most clients have).

    It is written into `module`, which must be of the run's architecture; without one, the config's model is
    made anew, which needs the data set for its shape. `at` is an earlier round that was kept.
    """
    run = run if isinstance(run, Run) else open_run(run)
    directory = Path(run.environment.get("directory", "."))
    config = parse_config(run.config, directory=directory)
    if module is None:
        federation = make_federation(config, directory, Path(data) if data is not None else None)
        module = make_module(config, federation, directory)
    state, layout = State.from_arrays(run.checkpoint(at)), Layout.of(module)
    if client is not None and not 0 <= client < state.clients:
        raise InputError(f"client = {client}: must lie between 0 and {state.clients - 1}")
    rule = bind_rule(config, directory)
    setting = Setting(
        state.clients, rule, config.sampling.fraction, config.seed, layers_of(layout), directory
    )
    models, rows = make_method(config, setting).attribution.assign(state)
    row = int(np.bincount(rows[state.free]).argmax()) if client is None else int(rows[client])
    layout.write(module, models[row])
    return module
