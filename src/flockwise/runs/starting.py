"""A run from the beginning: from a method or a config to a finished run."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flockwise.config import Config, parse_config
from flockwise.config.doubts import doubts
from flockwise.config.reading import said_config
from flockwise.data import Federation
from flockwise.engine import Engine, Opener
from flockwise.errors import InputError
from flockwise.messages import Event
from flockwise.options import shown, written
from flockwise.runs.assembly import Brought, assemble
from flockwise.runs.data_check import checked_data
from flockwise.runs.driving import Callback, ended, loop_of, policy_of, told_clients
from flockwise.runs.handle import Run
from flockwise.runs.objects import config_of, merged
from flockwise.runs.provenance import about_data, environment, new_run_path
from flockwise.runs.whereabouts import pointed_at
from flockwise.stages.method import Method
from flockwise.store import create_run
from flockwise.strategies.strategy import STRATEGIES, Strategy
from flockwise.training import Recipe

if TYPE_CHECKING:
    from torch import nn

    from flockwise.attacks import Attack
    from flockwise.tasks import Task

_KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "model": (callable, 'a module, a function that makes one, or a name such as "mlp"'),
    "training": (
        lambda given: isinstance(given, Recipe),
        'a recipe such as fw.SGD(epochs=2), or {"epochs": 2}',
    ),
    "attack": (
        lambda given: hasattr(given, "section"),
        'an attack such as fw.attacks.reverse(clients=2), or {"name": "reverse", "clients": 2}',
    ),
}


def run(
    what: Method | Config | Mapping[str, Any] | str | Path,
    clients: Federation | None = None,
    *,
    model: "nn.Module | Callable[..., nn.Module] | str | Mapping[str, Any] | None" = None,
    training: "Recipe | Mapping[str, Any] | None" = None,
    task: "Task | str | None" = None,
    attack: "Attack | str | Mapping[str, Any] | None" = None,
    rounds: int | None = None,
    seed: int | None = None,
    fraction: float | None = None,
    travels: Iterable[str] | None = None,
    trains: Iterable[str] | None = None,
    engine: Engine | Opener | None = None,
    out: str | Path | None = None,
    overrides: Iterable[str] = (),
    data: str | Path | None = None,
    on_round: Callback | None = None,
    stop: Callable[[], bool] = lambda: False,
    directory: str | Path | None = None,
    **sections: Any,
) -> Run:
    """Run a method, or a config (a path, a mapping or a Config), to the end and return the finished run.

        run(flic(warmup=10), clients, model=models.mlp, training=SGD(epochs=3), rounds=30)
        run("my.toml")

    `clients` and `model` bring your own data and module; `model`, `training` and `attack` may also be said as a config
    says them: `model="mlp"`, `training={"epochs": 2}`, `attack={"name": "reverse", "clients": 2}`. `rounds`, `seed`,
    `fraction` (of the clients, a round) and further sections of a config (`checkpoint={"every": 5}`) say the rest.
    `travels` names the tensors that are sent, `trains` those that train, if it is not all of them. `task` is what models
    learn, if it is not classification (`fw.tasks.regression()`, or a name).
    `engine` trains: this machine, if not given. `data` is the folder of data sets, or of your own data (`data.path`).
    `on_round` is called after every round; `stop` is asked then, and ends the run at a point from which it can be
    resumed. `directory` is where pieces of your own are looked for: beside the config, or here, if not given.
    """
    _refuse_others(what, clients)
    said = {"model": model, "training": training, "attack": attack}
    own = {name: _object(name, value) for name, value in said.items()}
    sections = merged(sections, {name: _words(value) for name, value in said.items() if _in_words(value)})
    beside = Path(what).parent if isinstance(what, str | Path) else Path.cwd()
    folder = beside if directory is None else Path(directory)
    method = what if isinstance(what, Method) else None
    brought = Brought(clients, own["model"], method, own["attack"], engine, own["training"], _task(task))
    given = _in_sections(sections, task, rounds, fraction, travels, trains)
    config = _as_config(what, brought, own["training"], seed, given, overrides, folder)
    config, sets = pointed_at(config, data, folder)
    path = Path(out) if out is not None else new_run_path(config)
    parts = assemble(config, directory=folder, data=sets, brought=brought)
    try:
        about = {**environment(config, folder), **about_data(parts.federation)}
        found = checked_data(parts.federation, config.data.check)
        with create_run(path, config.written(), about, policy_of(config)) as writer:
            told_clients(writer, parts)
            writer.events(0, [*found, *(Event("note", line) for line in doubts(config))])
            loop_of(config, parts, writer, on_round, stop).run(config.rounds)
    finally:
        parts.engine.close()
    return ended(path)


def _refuse_others(what: object, clients: object) -> None:
    """Refuse what cannot be run, before it fails somewhere below in words of its own."""
    if isinstance(what, Strategy):
        raise InputError(
            f"run({what.name}, ...): is a strategy, not yet a method; call it, as in fw.{what.function.__name__}()"
        )
    if not isinstance(what, Method | Config | Mapping | str | Path):
        raise InputError(
            f"run({type(what).__name__}, ...): must be a method such as fw.flic(), a config as a mapping, or its path"
        )
    if isinstance(what, str) and what.replace("_", "-") in STRATEGIES and not Path(what).exists():
        raise InputError(
            f"run({what!r}, ...): there is no file of that name; for the method say fw.strategies.{what.replace('-', '_')}()"
        )
    if clients is not None and not isinstance(clients, Federation):
        raise InputError(
            f"clients = {type(clients).__name__}: must be a Federation, such as fw.Federation.from_arrays([(x, y), ...])"
        )


def _in_words(value: object) -> bool:
    return isinstance(value, str | Mapping)


def _words(value: Any) -> dict[str, Any]:
    """A section of a config from its piece's name, or as it is."""
    return {"name": value} if isinstance(value, str) else dict(value)


def _object(name: str, value: Any) -> Any:
    """What was given as an object; None for what was said in words."""
    if value is None or (_in_words(value) and not (name == "training" and isinstance(value, str))):
        return None
    kind, example = _KINDS[name]
    if not kind(value):
        raise InputError(f"{name} = {shown(value)}: must be {example}")
    return value


def _as_config(
    what: Method | Config | Mapping[str, Any] | str | Path, brought: Brought, training: "Recipe | None",
    seed: int | None, sections: Mapping[str, Any], overrides: Iterable[str], directory: Path,
) -> Config:  # fmt: skip
    """The config that says what was asked for, checked and complete."""
    if isinstance(what, Method):
        if brought.clients is None:
            raise InputError(
                "clients: must be given with a method, such as fw.splits.iid(fw.data.digits(), clients=20)"
            )
        content = config_of(what, brought.clients, brought.model, training, brought.attack, seed, sections)
        return parse_config(content, overrides, directory)
    if training is not None or brought.attack is not None:
        raise InputError("training, attack: go with a method; a config has sections for them")
    if isinstance(what, str | Path):
        content = said_config(what).model_dump(exclude_unset=True)
    else:
        content = what.written() if isinstance(what, Config) else dict(what)
    content = merged(content, {**({} if seed is None else {"seed": seed}), **sections})
    if brought.clients is not None:
        content |= {"data": {"name": "own"}, "split": {"name": "iid", "clients": brought.clients.clients}}
    if brought.model is not None:
        content = merged(content, {"model": {"name": "own"}})
    return parse_config(content, overrides, directory)


def _in_sections(
    sections: Mapping[str, Any], task: "Task | str | None", rounds: int | None, fraction: float | None,
    travels: Iterable[str] | None, trains: Iterable[str] | None,
) -> dict[str, Any]:  # fmt: skip
    """The sections that were given, with those arguments of `run` that have words of their own."""
    given = dict(sections)
    for section, field, value in (
        ("sampling", "fraction", fraction),
        ("model", "travels", None if travels is None else list(travels)),
        ("model", "trains", None if trains is None else list(trains)),
    ):
        if value is not None:
            given = merged(given, {section: {field: value}})
    if rounds is not None:
        given = merged(given, {"rounds": rounds})
    return given if task is None else merged(given, {"task": _task_section(task)})


def _task(said: "Task | str | None") -> "Task | None":
    return None if isinstance(said, str) else said


def _task_section(said: "Task | str") -> dict[str, Any]:
    return {"name": said} if isinstance(said, str) else written(said.section())
