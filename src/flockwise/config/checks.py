"""What no single field can tell: names that exist, parameters that fit, combinations that can work."""

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flockwise import plugins
from flockwise.config.sections import Aggregation, Config, PreAggregation
from flockwise.config.validation import named, shown, validated
from flockwise.errors import ConfigError, PluginError


def check(config: Config, directory: Path | None) -> None:
    """Raise ConfigError if the config cannot be run."""
    faults: list[str] = []
    for test in (_data, _split, _model, _training, _strategy, _aggregation, _attack, _faults):
        try:
            test(config, directory)
        except PluginError as error:
            faults.append(f"{test.__name__.strip('_')}.name: {error}")
        except ConfigError as error:
            faults.append(str(error))
    if faults:
        raise ConfigError("\n".join(faults))


def _data(config: Config, directory: Path | None) -> None:
    from flockwise.data import DATASETS

    if config.data.name != "own":
        plugins.find("datasets", config.data.name, DATASETS, directory)


def _split(config: Config, directory: Path | None) -> None:
    from flockwise.splits import SPLITS

    if config.data.name == "own":
        return
    split = plugins.find("splits", config.split.name.replace("-", "_"), SPLITS, directory)
    known = signature_of(getattr(split, "function", split), skip=1)
    _known("split", config.split.parameters, known)
    groups, clients = config.split.parameters.get("groups"), config.split.clients
    if isinstance(groups, int) and clients is not None and groups > clients:
        raise ConfigError(f"split.groups = {groups}: must be at most split.clients = {clients}")


def _model(config: Config, directory: Path | None) -> None:
    if config.model.name in ("own", "softmax", "mlp", "cnn", "lenet", "cifar-cnn", "mobilenet"):
        return  # known without importing torch
    from flockwise.models import MODELS

    plugins.find("models", config.model.name, MODELS, directory)


def _training(config: Config, directory: Path | None) -> None:
    section = config.training
    if section.optimizer == "adam" and section.momentum:
        raise ConfigError(
            f"training.momentum = {section.momentum}: is for training.optimizer = 'sgd'; Adam has its own, leave it out"
        )


def _strategy(config: Config, directory: Path | None) -> None:
    from flockwise.strategies import STRATEGIES

    strategy = plugins.find("strategies", config.strategy.name, STRATEGIES, directory)
    if hasattr(strategy, "options"):
        options = validated(strategy.options, config.strategy.parameters, "strategy.")
        if getattr(options, "judge", "none") == "root" and not config.root.samples:
            raise ConfigError(
                "root.samples = 0: strategy.judge = 'root' needs clean data on the server, such as 100"
            )


def _aggregation(config: Config, directory: Path | None) -> None:
    from flockwise.aggregation import PRE_AGGREGATIONS, RULES

    rule = plugins.find("aggregators", config.aggregation.name, RULES, directory)
    _piece(
        "aggregation",
        config.aggregation,
        rule,
        {"weights", "f", "root", "strict"},
        {"strict", "attackers", "before"},
    )
    steps = [
        (step, plugins.find("pre-aggregations", step.name, PRE_AGGREGATIONS, directory))
        for step in config.aggregation.steps_before
    ]
    for step, piece in steps:
        _piece("aggregation.before", step, piece, {"f", "seed"})
    if config.aggregation.name == "fltrust" and not config.root.samples:
        raise ConfigError(
            "root.samples = 0: aggregation.name = 'fltrust' needs clean data on the server, such as 100"
        )
    clients = config.split.clients
    if not hasattr(rule, "minimum") or clients is None or config.strategy.name == "mini-fl":
        return
    taking_part = max(round(clients * config.sampling.fraction), 1)
    share = (
        config.aggregation.attackers
        if config.aggregation.attackers < 1
        else config.aggregation.attackers / clients
    )
    expected = int(share * taking_part + 1e-9)
    needed, seen = rule.minimum(expected, **config.aggregation.parameters), taking_part
    for step, piece in steps:
        seen = piece.leaves(seen, **step.parameters) if hasattr(piece, "leaves") else seen
    if seen < needed:
        made = f", of which aggregation.before makes {seen}" if seen < taking_part else ""
        raise ConfigError(
            f"aggregation.attackers = {config.aggregation.attackers:g}: {config.aggregation.name} needs {needed} clients "
            f"a round against {expected} attackers, but only {taking_part} take part{made}; lower it or raise "
            "sampling.fraction"
        )


def _piece(
    section: str,
    given: Aggregation | PreAggregation,
    piece: Any,
    ours: set[str],
    offered: frozenset[str] | set[str] = frozenset(),
) -> None:
    """Whether a section's parameters fit its piece, but for `ours`, which are not given by the user."""
    function = getattr(piece, "function", piece)
    _known(section, given.parameters, signature_of(function, skip=1) - ours | offered)
    missing = required_of(function, skip=1) - ours - given.parameters.keys()
    if missing:
        raise ConfigError(f"{section}.{min(missing)}: is needed by {given.name}, and has no default")
    for parameter in getattr(piece, "parameters", ()):
        value = given.parameters.get(parameter.name, parameter.default)
        if parameter.name in given.parameters and (fault := parameter.fault(value)):
            raise ConfigError(f"{section}.{parameter.name} = {shown(value)}: {fault}")


def _attack(config: Config, directory: Path | None) -> None:
    if config.attack.name == "none":
        return
    from flockwise.attacks import ATTACKS

    attack = plugins.find("attacks", config.attack.name, ATTACKS, directory)
    _known("attack", config.attack.parameters, signature_of(getattr(attack, "factory", attack)))
    chosen, clients = config.attack.clients, config.split.clients
    if not chosen:
        raise ConfigError(
            f"attack.clients = {chosen}: nobody would attack; say how many do, or attack.name = 'none'"
        )
    if clients is None:
        return
    if isinstance(chosen, list):
        wrong = [client for client in chosen if not 0 <= client < clients]
        if wrong:
            raise ConfigError(f"attack.clients = {wrong[0]}: must lie between 0 and {clients - 1}")
    elif chosen < 0 or (chosen >= 1 and int(chosen) > clients) or (chosen >= 1 and chosen != int(chosen)):
        raise ConfigError(
            f"attack.clients = {chosen}: must be a count of at most {clients}, a share below 1, or a list"
        )


def _faults(config: Config, directory: Path | None) -> None:
    clients = config.split.clients
    for field in ("late_clients", "drift_clients"):
        count = getattr(config.faults, field)
        if clients is not None and count > clients:
            raise ConfigError(f"faults.{field} = {count}: must be at most split.clients = {clients}")


def signature_of(function: Any, skip: int = 0) -> set[str]:
    """The names of a function's parameters, but for the first `skip`."""
    try:
        return set(list(inspect.signature(function).parameters)[skip:])
    except (TypeError, ValueError):
        return set()


def required_of(function: Any, skip: int = 0) -> set[str]:
    """The names of a function's parameters without a default, but for the first `skip`."""
    try:
        found = list(inspect.signature(function).parameters.values())[skip:]
    except (TypeError, ValueError):
        return set()
    plain = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {p.name for p in found if p.kind in plain and p.default is p.empty}


def _known(section: str, given: Mapping[str, Any], known: set[str]) -> None:
    for key, value in given.items():
        if key not in known:
            hint = plugins.nearest(key, sorted(known)) if known else "it takes none"
            raise ConfigError(f"{section}.{named(key)} = {shown(value)}: unknown key; {hint}")
