"""From a config to the clients' side of a run: their data, their model, their work."""

import inspect
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from flockwise import plugins
from flockwise.attacks import DataAttack, UpdateAttack
from flockwise.config import Config
from flockwise.config.learning import task_of
from flockwise.data import DATASETS, NAMED_DATA, Dataset, Federation, load
from flockwise.data.loading import folder_of_sets
from flockwise.data.preparing import prepared
from flockwise.data.scenario import drifted, set_root_aside
from flockwise.engine.client_work import ClientWork, WorkSource
from flockwise.errors import ConfigError, InputError
from flockwise.models import MODELS, build
from flockwise.registry import OWN
from flockwise.rng import derived_seed
from flockwise.runs.adversary import Adversary
from flockwise.runs.known_tokens import refuse_tokens_beyond
from flockwise.runs.recipes import recipe_of
from flockwise.runs.targets import check_attack, check_classes, check_data, outputs_of
from flockwise.splits import SPLITS
from flockwise.stages.method import Method
from flockwise.stages.personal import AS_USUAL, Personal
from flockwise.stages.report import Report
from flockwise.tasks import Task
from flockwise.training import Recipe

OwnModel = (
    nn.Module | Callable[..., nn.Module]
)  # a module, or a function of nothing or of (input_shape, classes)


def make_work(
    config: Config, directory: Path | None, data: Path | None, *, federation: Federation | None = None,
    model: OwnModel | None = None, adversary: Adversary | None = None, report: Report | None = None,
    personal: Personal | None = None, recipe: Recipe | None = None, task: Task | None = None,
) -> ClientWork:  # fmt: skip
    """All that is needed to do any client's work, on whatever machine."""
    federation = federation or make_federation(config, directory, data)
    federation, root = set_root_aside(federation, config.root.samples, config.seed)
    learned = task or task_of(config, directory)
    check_data(learned, federation.dataset)
    first = model_factory(config, federation, directory, model, learned)(derived_seed(config.seed, "model"))
    attack = adversary.attack if adversary else None
    check_attack(learned, attack)
    liars = sorted(adversary.clients) if adversary else []
    poison: dict[int, DataAttack] = {}
    if isinstance(attack, DataAttack):
        poison = {client: attack.of(number) for number, client in enumerate(liars)}
    # What attackers that know nothing send does not depend on any training.
    idle = (
        adversary.clients
        if adversary and isinstance(attack, UpdateAttack) and not attack.knows
        else frozenset()
    )
    later = (
        drifted(federation, config.faults.drift_clients, config.seed) if config.faults.drift_clients else None
    )
    return ClientWork(
        federation, first, recipe_of(config, directory, recipe), config.seed, config.engine.device,
        config.engine.path, root, poison, later, config.faults.drift_round, idle, config.attack.first_round,
        report, tuple(config.model.travels), WorkSource(config.written(), directory, data), learned,
        tuple(config.model.trains), personal or AS_USUAL, attack.goal if isinstance(attack, DataAttack) else None,
        config.evaluation.on,
    )  # fmt: skip


def for_federation(method: Method, federation: Federation) -> Method:
    """The method for the samples of these clients, and the classes where each sample has one."""
    return method.for_data(int(np.prod(federation.dataset.x.shape[1:])), federation.dataset.kinds)


def report_of(method: Method) -> Report | None:
    """What clients are asked to tell, once the method is for their data."""
    return method.report if isinstance(method.report, Report) else None


def make_federation(config: Config, directory: Path | None, data: Path | None) -> Federation:
    """The data set, dealt out as the config says."""
    where = Path(config.data.directory) if config.data.directory else folder_of_sets(data)
    dataset = _dataset(config, where, directory)
    split = plugins.find("splits", config.split.name.replace("-", "_"), SPLITS, directory)
    arguments: dict[str, Any] = {
        "seed": config.seed, "validation": config.split.validation, **config.split.parameters,
    }  # fmt: skip
    if config.split.clients is not None:
        arguments["clients"] = config.split.clients
    try:
        with plugins.running(f"split.name = {config.split.name!r}", split):
            federation: Federation = split(dataset, **arguments)
    except InputError as error:
        raise ConfigError(f"split.{error}") from error
    if not isinstance(federation, Federation):
        raise ConfigError(
            f"split.name = {config.split.name!r}: made a {type(federation).__name__}, not a flockwise.Federation"
        )
    wanted = config.split.clients
    if wanted is not None and federation.clients != wanted:
        raise ConfigError(
            f'split.clients = {wanted}: {config.split.name} made {federation.clients} clients; say as many, or "none"'
        )
    try:
        return prepared(federation)
    except InputError as error:
        raise ConfigError(f"data.{error}") from error


def _dataset(config: Config, where: Path | None, directory: Path | None) -> Dataset:
    name = config.data.name
    if name == "own":
        raise ConfigError(
            "data.name = 'own': this run was given its data in Python; pass the same clients and model again, as in "
            "flockwise.resume(path, clients=..., model=...)"
        )
    if name in DATASETS:
        return load(name, where)
    read = plugins.find("datasets", name, NAMED_DATA, directory)
    beside = {"beside": directory} if name in NAMED_DATA else {}
    with plugins.running(f"data.name = {name!r}", read):
        made = read(**config.data.parameters, **beside)
    if not isinstance(made, Dataset):
        raise ConfigError(f"data.name = {name!r}: made a {type(made).__name__}, not a flockwise.data.Dataset")
    return made


def model_factory(
    config: Config,
    federation: Federation,
    directory: Path | None,
    model: OwnModel | None = None,
    task: Task | None = None,
) -> Callable[[int], nn.Module]:
    """A function from a seed to the model that clients train."""
    if isinstance(model, nn.Module):
        return lambda seed: model
    image = _as_image(federation.dataset.shape)
    learned = task or task_of(config, directory)
    classes = outputs_of(learned, federation.dataset)
    if model is not None:
        wanted = (image, classes) if _takes_two(model) else ()
        return lambda seed: _seeded(model, wanted, seed)
    check_classes(learned, federation.dataset, classes)
    if config.model.name in MODELS:
        options = dict(config.model.parameters)
        if options.get("weights") is not None:  # a file beside the config, from wherever the run is started
            options["weights"] = str((directory or Path()) / options["weights"])
        if "tokens" in options:  # a transformer's embedding of places, larger, would hide that of tokens
            refuse_tokens_beyond(options["tokens"] or classes, federation.dataset)
        return lambda seed: build(config.model.name, image, classes, seed, **options)
    found = plugins.find("models", config.model.name, MODELS, directory)
    make = partial(found, **config.model.parameters)
    told = (image, classes) if _takes_any(make) else ()
    return lambda seed: _seeded(make, told, seed, config.model.name)


def _as_image(shape: tuple[int, ...]) -> tuple[int, int, int]:
    """What a model function is told of its input: (channels, height, width), ones where there is no such thing."""
    if len(shape) == 3:
        return shape[2], shape[0], shape[1]
    return (1, *shape) if len(shape) == 2 else (1, 1, int(np.prod(shape)))  # type: ignore[return-value]


def _takes_two(function: Callable[..., Any]) -> bool:
    """Whether a model function wants the shape of its input and the number of classes."""
    parameters = inspect.signature(function).parameters.values()
    return (
        sum(
            p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
            for p in parameters
        )
        >= 2
    )


def _takes_any(function: Callable[..., Any]) -> bool:
    """Whether a model function of a config can be told anything; one that cannot knows its input already."""
    kinds = [parameter.kind for parameter in inspect.signature(function).parameters.values()]
    return any(kind not in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD) for kind in kinds)


def _seeded(
    function: Callable[..., Any], arguments: tuple[Any, ...], seed: int, name: str = OWN
) -> nn.Module:
    called = function.func if isinstance(function, partial) else function
    with torch.random.fork_rng(devices=[]), plugins.running(f"model.name = {name!r}", called):
        torch.default_generator.manual_seed(seed)
        module = function(*arguments)
    if not isinstance(module, nn.Module):
        raise ConfigError(f"model.name = {name!r}: made a {type(module).__name__}, not a torch.nn.Module")
    return module
