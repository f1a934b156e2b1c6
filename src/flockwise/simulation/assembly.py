"""From a config to the live objects of a run."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from flockwise import plugins
from flockwise.aggregation import PRE_AGGREGATIONS, RULES
from flockwise.attacks import ATTACKS, DataAttack, UpdateAttack
from flockwise.config import Config
from flockwise.config.checks import signature_of
from flockwise.config.validation import validated
from flockwise.data import DATASETS, Dataset, Federation, Shard, load
from flockwise.engine import Engine, LocalEngine, Workbench
from flockwise.errors import ConfigError, InputError, RunError
from flockwise.models import MODELS, Layout, build
from flockwise.models.beginnings import beginnings
from flockwise.pieces.evidence import Layers
from flockwise.pieces.rules import BoundRule
from flockwise.pieces.state import State
from flockwise.rng import derived_seed, generator
from flockwise.server import Gate, Server
from flockwise.server.method import Method
from flockwise.simulation.adversary import Adversary, choose_attackers
from flockwise.simulation.channel import Channel, make_channel
from flockwise.splits import SPLITS
from flockwise.strategies import STRATEGIES, Setting
from flockwise.training import Recipe

# By name, so that nothing of an optional engine is imported before it is asked for.
ENGINES = {"flower": "flockwise.flower.engine:open_engine"}


@dataclass(frozen=True)
class Parts:
    """Everything a run is made of."""

    federation: Federation
    server: Server
    engine: Engine
    adversary: Adversary | None
    channel: Channel
    layout: Layout
    later: Federation | None = None  # the federation once some clients' data has changed


def assemble(
    config: Config, state: State | None = None, *, directory: Path | None = None, data: Path | None = None,
    federation: Federation | None = None, model: nn.Module | Callable[[], nn.Module] | None = None,
) -> Parts:  # fmt: skip
    """Build every part; `federation` and `model` replace what the config names."""
    if config.engine.name != "local" and (federation is not None or model is not None):
        raise ConfigError("engine.name = 'flower': nodes need data and model by name, as module:function")
    bench = make_workbench(config, directory, data, federation, model)
    federation, first = bench.federation, bench.module
    factory = _model_factory(config, federation, directory, model)
    layout = Layout.of(first)
    rule = bind_rule(config, directory)
    setting = Setting(
        federation.clients, rule, config.sampling.fraction, config.seed, layers_of(layout), directory
    )
    method = make_method(config, setting)
    initial = [layout.read(first)]
    if isinstance(model, nn.Module):  # there is only this one; methods of several models need others
        initial = list(
            beginnings(layout.entries, initial[0], method.models, generator(config.seed, "beginnings"))
        )
    else:
        seeds = [derived_seed(config.seed, "model", i) for i in range(1, method.models)]
        initial += [layout.read(factory(seed)) for seed in seeds]
    if state is not None:
        _same_run(state, federation.clients, layout.size)
    gate = Gate(layout.size, config.gate.max_norm)
    server = Server(method, np.stack(initial), federation.clients, gate, config.gate.weight_cap, state)
    adversary = make_adversary(config, federation.clients, directory)
    engine: Engine
    if config.engine.name != "local":
        engine = plugins.find("engines", ENGINES[config.engine.name], {})(config, bench, directory, data)
    else:
        engine = LocalEngine(
            bench, config.engine.workers, most_models=method.models + federation.clients + 64
        )
    return Parts(
        federation, server, engine, adversary, make_channel(config, federation.clients), layout, bench.later
    )


def _same_run(state: State, clients: int, parameters: int) -> None:
    if state.clients != clients:
        raise RunError(
            f"this run has {state.clients} clients, not {clients}: it belongs to another federation"
        )
    if state.models.shape[1] != parameters:
        raise RunError(
            f"this run's models have {state.models.shape[1]} numbers, not {parameters}: it belongs to another model"
        )


def make_workbench(
    config: Config, directory: Path | None, data: Path | None, federation: Federation | None = None,
    model: nn.Module | Callable[[], nn.Module] | None = None,
) -> Workbench:  # fmt: skip
    """All that is needed to do any client's work, on whatever machine."""
    federation = federation or make_federation(config, directory, data)
    federation, root = carve_root(federation, config.root.samples, config.seed)
    first = _model_factory(config, federation, directory, model)(derived_seed(config.seed, "model"))
    adversary = make_adversary(config, federation.clients, directory)
    poison, idle = {}, frozenset[int]()
    if adversary and isinstance(adversary.attack, DataAttack):
        poison = dict.fromkeys(adversary.clients, adversary.attack)
    elif adversary and isinstance(adversary.attack, UpdateAttack) and not adversary.attack.knows:
        idle = adversary.clients  # what they send does not depend on any training
    later = (
        drifted(federation, config.faults.drift_clients, config.seed) if config.faults.drift_clients else None
    )
    return Workbench(
        federation, first, Recipe(**config.training.model_dump()), config.seed, config.engine.device,
        config.engine.path, root, poison, later, config.faults.drift_round, idle, config.attack.first_round,
    )  # fmt: skip


def make_federation(config: Config, directory: Path | None, data: Path | None) -> Federation:
    """The data set, dealt out as the config says."""
    where = Path(config.data.directory) if config.data.directory else data
    dataset = _dataset(config.data.name, where, directory)
    split = plugins.find("splits", config.split.name.replace("-", "_"), SPLITS, directory)
    function = getattr(split, "function", split)
    arguments: dict[str, Any] = {
        "seed": config.seed,
        "validation": config.split.validation,
        **config.split.parameters,
    }
    if config.split.clients is not None:
        arguments["clients"] = config.split.clients
    try:
        federation: Federation = function(dataset, **arguments)
    except InputError as error:
        raise ConfigError(f"split.{error}") from error
    return federation


def _dataset(name: str, where: Path | None, directory: Path | None) -> Dataset:
    if name == "own":
        raise ConfigError(
            "data.name = 'own': this run was given its data in Python; pass the same federation and model again, as in "
            "flockwise.resume(path, federation=..., model=...)"
        )
    if name in DATASETS:
        return load(name, where)
    made = plugins.find("datasets", name, DATASETS, directory)()
    if not isinstance(made, Dataset):
        raise ConfigError(f"data.name = {name!r}: made a {type(made).__name__}, not a flockwise.data.Dataset")
    return made


def carve_root(federation: Federation, samples: int, seed: int) -> tuple[Federation, Shard | None]:
    """Take clean samples for the server out of the clients' training data, under their true labels."""
    if not samples:
        return federation, None
    held = np.unique(np.concatenate([shard.train for shard in federation.shards]))
    if samples >= len(held):
        raise ConfigError(f"root.samples = {samples}: clients hold only {len(held)} training samples in all")
    taken = np.sort(generator(seed, "root data").choice(held, size=samples, replace=False))
    shards = tuple(replace(shard, train=np.setdiff1d(shard.train, taken)) for shard in federation.shards)
    nothing = np.zeros(0, dtype=np.int64)
    return Federation(federation.dataset, shards), Shard(taken, taken, nothing)


def drifted(federation: Federation, clients: int, seed: int) -> Federation:
    """The same federation after some clients' data has become that of the next group."""
    groups = federation.groups
    kinds = {} if groups is None else {
        int(g): federation.shards[int(np.flatnonzero(groups == g)[0])] for g in np.unique(groups)
    }  # fmt: skip
    if groups is None or len({(kind.relabel, kind.turns) for kind in kinds.values()}) < 2:
        raise ConfigError(
            f"faults.drift_clients = {clients}: this split has no groups to drift between; "
            "label_swap and rotation have"
        )
    movers = generator(seed, "drift").choice(federation.clients, size=clients, replace=False)
    shards = list(federation.shards)
    for client in movers.tolist():
        after = (int(groups[client]) + 1) % len(kinds)
        kind = kinds[after]
        shards[client] = replace(shards[client], relabel=kind.relabel, turns=kind.turns, group=after)
    return Federation(federation.dataset, tuple(shards))


def layers_of(layout: Layout) -> Layers:
    """First and last number of each layer: a module's weight and bias are one, statistics of batch normalisation each one.

    The statistics tell most about a client's data. The communities paper's code counts every array, but a bias that
    starts at zero changes by more than itself, whatever it learns, and hides the rest.
    """
    spans: dict[str, list[int]] = {}
    for entry in layout.entries:
        name = entry.name.rpartition(".")[0] if entry.trainable else entry.name
        spans.setdefault(name, []).extend((entry.start, entry.stop))
    return tuple((min(ends), max(ends)) for ends in spans.values())


def bind_rule(config: Config, directory: Path | None) -> BoundRule:
    """The aggregation rule with its parameters."""
    section = config.aggregation
    rule = plugins.find("aggregators", section.name, RULES, directory)
    function = getattr(rule, "function", rule)
    takes = signature_of(function)
    contract = getattr(rule, "contract", None)
    weighted = contract.weighted if contract else "weights" in takes
    parameters = dict(section.parameters)
    if "strict" in takes:
        parameters.setdefault("strict", config.strategy.name in ("fedavg",))
    return BoundRule(
        section.name, function, weighted=weighted, wants_attackers="f" in takes, wants_root="root" in takes,
        attackers=section.attackers, parameters=parameters,
        before=[
            _before(plugins.find("pre-aggregations", step.name, PRE_AGGREGATIONS, directory), step.parameters)
            for step in section.steps_before
        ],
        seed=config.seed, minimum=getattr(rule, "minimum", lambda f, **_: 1),
    )  # fmt: skip


def _before(piece: Any, parameters: dict[str, Any]) -> Callable[[np.ndarray, int, int], np.ndarray]:
    function = getattr(piece, "function", piece)
    takes = signature_of(function)

    def prepare(updates: np.ndarray, attackers: int, seed: int) -> np.ndarray:
        ours = {"f": attackers, "seed": seed}
        return np.asarray(function(updates, **parameters, **{key: ours[key] for key in ours if key in takes}))

    return prepare


def make_method(config: Config, setting: Setting) -> Method:
    """The method the config names, with its options."""
    strategy = plugins.find("strategies", config.strategy.name, STRATEGIES, setting.directory)
    if not hasattr(strategy, "build"):  # a user's own function of the setting
        return strategy(setting, **config.strategy.parameters)  # type: ignore[no-any-return]
    options = validated(strategy.options, config.strategy.parameters, "strategy.")
    method: Method = strategy.build(options, setting)
    return method


def make_adversary(config: Config, clients: int, directory: Path | None) -> Adversary | None:
    """The attackers of the config, if any."""
    if config.attack.name == "none":
        return None
    found = plugins.find("attacks", config.attack.name, ATTACKS, directory)
    try:
        attack = getattr(found, "factory", found)(**config.attack.parameters)
    except (InputError, TypeError, ValueError) as error:
        raise ConfigError(
            f"attack.{error}" if isinstance(error, InputError) else f"attack: {error}"
        ) from error
    knowledge: Mapping[str, object] = {"f": config.aggregation.attackers, **config.aggregation.parameters}
    return Adversary(
        attack, choose_attackers(config, clients), config.seed, config.attack.first_round, config.aggregation.name,
        dict(knowledge),
    )  # fmt: skip


def make_module(config: Config, federation: Federation, directory: Path | None) -> nn.Module:
    """The model that the config names, as it is before training."""
    return _model_factory(config, federation, directory, None)(derived_seed(config.seed, "model"))


def _model_factory(
    config: Config,
    federation: Federation,
    directory: Path | None,
    model: nn.Module | Callable[[], nn.Module] | None,
) -> Callable[[int], nn.Module]:
    if model is not None:
        own = model
        if isinstance(own, nn.Module):
            return lambda seed: own
        return lambda seed: _seeded(lambda *_: own(), (), 0, seed)
    shape = federation.dataset.x.shape[1:]
    image = (shape[2], shape[0], shape[1]) if len(shape) == 3 else (1, 1, int(np.prod(shape)))
    classes = federation.dataset.classes
    if config.model.name in MODELS:
        return lambda seed: build(config.model.name, image, classes, seed)
    found = plugins.find("models", config.model.name, MODELS, directory)
    return lambda seed: _seeded(found, image, classes, seed)


def _seeded(factory: Any, image: tuple[int, ...], classes: int, seed: int) -> nn.Module:
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        module = getattr(factory, "factory", factory)(image, classes)
    if not isinstance(module, nn.Module):
        raise ConfigError(f"model.name: made a {type(module).__name__}, not a torch.nn.Module")
    return module
