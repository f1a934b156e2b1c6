"""The Flower app that runs a config: its ServerApp drives the run, its ClientApps are workers."""

import json
from pathlib import Path

import tomli_w
from flwr.app import Context
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp

from flockwise.config import Config
from flockwise.flower.worker_app import worker_app

_MODULE = '''"""A run of Flockwise on Flower, made by `flockwise run --engine flower`."""

from flockwise.flower.config_app import client_app, server_app

client = client_app()
server = server_app()
'''


def write_app(folder: Path, config: Config, run: Path, directory: Path) -> None:
    """Write the app bundle that `flwr run` takes."""
    folder.mkdir(parents=True, exist_ok=True)
    project = {
        "project": {"name": "flockwise-run", "version": "1.0.0", "description": "a run of Flockwise",
                    "license": "Apache-2.0", "dependencies": []},
        "tool": {"flwr": {"app": {
            "publisher": "flockwise",
            "components": {"serverapp": "flockwise_run:server", "clientapp": "flockwise_run:client"},
            "config": {
                "flockwise-config": json.dumps(config.written()),
                "flockwise-run": str(run.absolute()), "flockwise-directory": str(directory.absolute()),
            },
        }}},
    }  # fmt: skip
    (folder / "pyproject.toml").write_text(tomli_w.dumps(project), encoding="utf-8")
    (folder / "flockwise_run.py").write_text(_MODULE, encoding="utf-8")


def client_app() -> ClientApp:
    """The workers; config and folders come with the run."""
    return worker_app()


def server_app() -> ServerApp:
    """Runs the config, or goes on with it where its run directory says it stopped."""
    app = ServerApp()

    @app.main()
    def main(grid: Grid, context: Context) -> None:
        from flockwise.config import parse_config
        from flockwise.flower.engine import FlowerGrid
        from flockwise.flower.logs import log_round
        from flockwise.flower.run_directory import same_run
        from flockwise.runs import resume, run

        path = Path(str(context.run_config["flockwise-run"]))
        directory = Path(str(context.run_config["flockwise-directory"]))
        config = parse_config(json.loads(str(context.run_config["flockwise-config"])), directory=directory)
        section = config.engine
        engine = FlowerGrid(grid, section.workers, section.timeout, section.retries)
        if (path / "config.toml").exists():
            same_run(path, config)
            resume(path, rounds=config.rounds, engine=engine, on_round=log_round)
        else:
            run(config, out=path, directory=directory, engine=engine, on_round=log_round)

    return app
