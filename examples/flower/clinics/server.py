"""A ServerApp with a Flockwise strategy: the import, the strategy, the start."""

import json

import numpy as np
from flwr.app import ArrayRecord, Context
from flwr.serverapp import Grid, ServerApp

from flockwise.flower import Flocks

app = ServerApp()


def first_model() -> ArrayRecord:
    """Where training begins."""
    return ArrayRecord([np.zeros((5, 3)), np.zeros(3)])


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Find the flocks among the clinics and train a model for each."""
    settings = context.run_config
    flocks = Flocks(
        str(settings["strategy"]),
        clients=int(settings["clients"]),
        run=str(settings["run"]),
        evaluate_every=int(settings["evaluate-every"]),
        **json.loads(str(settings["options"])),
    )
    result = flocks.start(
        grid, first_model(), num_rounds=int(settings["rounds"]), timeout=float(settings["timeout"])
    )
    print(result.flock_of, result.evaluate_metrics_clientapp)
