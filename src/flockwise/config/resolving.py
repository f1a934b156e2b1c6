"""A config with every piece's options checked and filled in: what no single field can tell."""

import inspect
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from flockwise import plugins
from flockwise.aggregation import Rule, rule_from
from flockwise.attacks import ATTACKS
from flockwise.config.learning import resolved_task, resolved_training
from flockwise.config.sections import Config, OpenSection, PreAggregation
from flockwise.data import NAMED_DATA, Spec
from flockwise.data.reading import GIVEN as GIVEN_TO_READERS
from flockwise.errors import ConfigError, PluginError
from flockwise.models import MODELS
from flockwise.notes import AtMostClients, Names, Needs, OptionsOf
from flockwise.options import named, noted, resolved, shown
from flockwise.registry import OWN, Piece, first_parameters
from flockwise.splits import SPLITS
from flockwise.splits.contract import GIVEN as GIVEN_TO_SPLITS
from flockwise.strategies import Method, Strategy, find_strategy

Resolve = Callable[[Config, Path | None], Config]


def resolve(config: Config, directory: Path | None) -> Config:
    """The config with all options of its pieces; ConfigError with a line per fault if it cannot be run."""
    faults: list[str] = []
    for step in (
        _data,
        _split,
        _model,
        _task,
        _training,
        _default_rule,
        _aggregation,
        _strategy,
        _attack,
        _faults,
        _evaluation,
    ):
        section = step.__name__.strip("_")
        try:
            with _own_piece(config, section):
                config = step(config, directory)
        except PluginError as error:
            told = str(error)
            faults.append(told if told.startswith(f"{section}.name") else f"{section}.name: {told}")
        except ConfigError as error:
            faults.append(str(error))
    if faults:
        raise ConfigError("\n".join(dict.fromkeys("\n".join(faults).splitlines())))
    return config


def _own_piece(config: Config, section: str) -> AbstractContextManager[None]:
    """While a section is checked: what a user's own piece in it raises is told in a line, with its file."""
    named = getattr(getattr(config, section, None), "name", "")
    return plugins.running(f"{section}.name = {named!r}") if ":" in str(named) else nullcontext()


def rule_of(config: Config, directory: Path | None) -> Rule:
    """The aggregation rule of a config."""
    section = config.aggregation
    steps = [
        step if isinstance(step, str) else {"name": step.name, **step.parameters} for step in section.before
    ]
    return rule_from(
        {"name": section.name, "attackers": section.attackers, "before": steps, **section.parameters},
        directory,
    )


def method_of(config: Config, directory: Path | None) -> Method:
    """The method of a config, with its rule."""
    for section, name in (("strategy", config.strategy.name), ("aggregation", config.aggregation.name)):
        if name == OWN:
            raise ConfigError(
                f"{section}.name = 'own': this run was given its method in Python; pass it again, as in "
                "flockwise.resume(path, method=...)"
            )
    strategy = find_strategy(config.strategy.name, directory)
    method: Method = strategy(
        rule=rule_of(config, directory), **_found_here(strategy, config.strategy.parameters, directory)
    )
    return method


def _found_here(strategy: Strategy[Any], options: dict[str, Any], directory: Path | None) -> dict[str, Any]:
    """A strategy's options with a user's own pieces, `module:name`, looked up beside the config."""
    kinds = {name: note.kind for name, note in noted(strategy.function, Names)}
    return {
        key: plugins.find(kinds[key], value, {}, directory)
        if key in kinds and isinstance(value, str) and ":" in value
        else value
        for key, value in options.items()
    }


def _with(config: Config, section: str, options: dict[str, Any]) -> Config:
    before: OpenSection = getattr(config, section)
    fields = {name: getattr(before, name) for name in type(before).model_fields}
    return config.model_copy(update={section: type(before).model_validate({**fields, **options})})


def _beside(section: OpenSection) -> list[str]:
    """The keys of a section that are not the options of its piece."""
    return list(type(section).model_fields)


def _data(config: Config, directory: Path | None) -> Config:
    if config.data.name == OWN:
        return config
    found = plugins.find("datasets", config.data.name, NAMED_DATA, directory)
    function = found.function if isinstance(found, Piece) else found
    if isinstance(found, Spec):
        for name, value in config.data.parameters.items():
            hint = plugins.nearest(name, _beside(config.data))
            told = hint if hint.startswith("did you mean") else f"{found.name} takes none"
            raise ConfigError(f"data.{named(name)} = {shown(value)}: unknown key; {told}")
        return config
    beside = _beside(config.data)
    options = resolved(function, config.data.parameters, GIVEN_TO_READERS, "data.", beside=beside)
    return _with(config, "data", options)


def _split(config: Config, directory: Path | None) -> Config:
    if config.data.name == OWN:
        return config
    split = plugins.find("splits", config.split.name.replace("-", "_"), SPLITS, directory)
    function = split.function if isinstance(split, Piece) else split
    if "clients" not in config.split.model_fields_set and _tells_how_many(function):
        config = config.model_copy(update={"split": config.split.model_copy(update={"clients": None})})
    given = GIVEN_TO_SPLITS | first_parameters(function, 1)
    options = resolved(function, config.split.parameters, given, "split.", beside=_beside(config.split))
    _at_most_clients(config, function, options, "split.")
    return _with(config, "split", options)


def _tells_how_many(split: Callable[..., Any]) -> bool:
    """Whether a split knows itself how many clients there are, if it is not told."""
    parameters = inspect.signature(split).parameters
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    return parameters["clients"].default is None if "clients" in parameters else not takes_any


def _model(config: Config, directory: Path | None) -> Config:
    if config.model.name == OWN:
        return config
    model = plugins.find("models", config.model.name, MODELS, directory)
    function = model.function if isinstance(model, Piece) else model
    given, beside = first_parameters(function, 2), _beside(config.model)
    return _with(config, "model", resolved(function, config.model.parameters, given, "model.", beside=beside))


def _task(config: Config, directory: Path | None) -> Config:
    return resolved_task(config, directory)


def _training(config: Config, directory: Path | None) -> Config:
    return resolved_training(config, directory)


def _default_rule(config: Config, directory: Path | None) -> Config:
    """Where no rule is named, the strategy's own."""
    if "name" in config.aggregation.model_fields_set or config.strategy.name == OWN:
        return config
    try:
        rule = find_strategy(config.strategy.name, directory).rule
    except PluginError:
        return config  # told with the strategy
    if rule is None or (rule.name == config.aggregation.name and not rule.before):
        return config
    said = {**rule.options, **config.aggregation.parameters, "name": rule.name}
    own: dict[str, Any] = {
        "attackers": rule.attackers,
        "before": [{"name": step.name, **step.options} for step in rule.before],
    }
    said |= {
        name: getattr(config.aggregation, name) if name in config.aggregation.model_fields_set else value
        for name, value in own.items()
    }
    return config.model_copy(update={"aggregation": type(config.aggregation).model_validate(said)})


def _aggregation(config: Config, directory: Path | None) -> Config:
    if config.aggregation.name == OWN:
        return config
    rule = rule_of(config, directory)
    if "root" in rule.piece.wants and not config.root.samples and config.data.name != OWN:
        raise ConfigError(
            f"root.samples = 0: aggregation.name = {rule.name!r} needs clean data on the server, such as 100"
        )
    steps = [PreAggregation.model_validate({"name": step.name, **step.options}) for step in rule.before]
    section = config.aggregation.model_copy(update={"before": steps})
    return _with(config.model_copy(update={"aggregation": section}), "aggregation", dict(rule.options))


def _enough_clients(config: Config, rule: Rule) -> None:
    """Whether as many clients take part as the rule needs to keep its promise."""
    clients, attackers = config.split.clients, config.aggregation.attackers
    if clients is None:
        return
    taking_part = max(round(clients * config.sampling.fraction), 1)
    expected = int((attackers if attackers < 1 else attackers / clients) * taking_part + 1e-9)
    needed, seen = rule.piece.minimum(expected, **rule.options), taking_part
    for step in rule.before:
        seen = step.piece.leaves(seen, **step.options)
    if seen < needed:
        made = f", of which aggregation.before makes {seen}" if seen < taking_part else ""
        raise ConfigError(
            f"aggregation.attackers = {attackers:g}: {rule.name} needs {needed} clients a round against {expected} "
            f"attackers, but only {taking_part} take part{made}; lower it or raise sampling.fraction"
        )


def _strategy(config: Config, directory: Path | None) -> Config:
    if config.strategy.name == OWN:
        return config
    strategy = find_strategy(config.strategy.name, directory)
    options = strategy.resolved(config.strategy.parameters, "strategy.", directory)
    if config.aggregation.name != OWN:
        try:
            rule = rule_of(config, directory)
        except (ConfigError, PluginError):
            return config  # told already
        if strategy.rule_sees_all:
            _enough_clients(config, rule)
        method_of(config, directory)  # choices that do not go together are told here, never in mid-run
    _fits(config, strategy, options, "strategy.", directory)
    return _with(config, "strategy", options)


def _fits(
    config: Config, strategy: Strategy[Any], options: Mapping[str, Any], at: str, directory: Path | None
) -> None:
    """Whether the config has what the strategy's options need of it, and those of a strategy inside it."""
    _at_most_clients(config, strategy.function, options, at)
    for name, needs in noted(strategy.function, Needs):
        section, _, field = needs.field.partition(".")
        brought = section == "split" and config.data.name == OWN  # the user's clients have what they have
        if needs.asked_by(options[name]) and not getattr(getattr(config, section), field) and not brought:
            raise ConfigError(f"{needs.field} = 0: {at}{name} = {options[name]!r} {needs.why}")
    for name, inner in noted(strategy.function, OptionsOf):
        if inner.of == "strategies" and options[name]:
            within = find_strategy(options[name]["name"], directory)
            _fits(config, within, options[name], f"{at}{name}.", directory)


def _at_most_clients(
    config: Config, function: Callable[..., Any], options: Mapping[str, Any], at: str
) -> None:
    clients = config.split.clients
    for name, _ in noted(function, AtMostClients):
        if isinstance(options[name], int) and clients is not None and options[name] > clients:
            raise ConfigError(f"{at}{name} = {options[name]}: must be at most split.clients = {clients}")


def _attack(config: Config, directory: Path | None) -> Config:
    section, clients = config.attack, config.split.clients
    chosen = section.clients
    if section.name == "none":
        if chosen:
            raise ConfigError(
                f"attack.clients = {chosen}: nobody attacks; say how with attack.name, or leave it out"
            )
        # Options of an attack may stand there while it is off; what no attack takes is a slip, perhaps of the name.
        known = {*_beside(section), *(option for piece in ATTACKS.values() for option in piece.defaults)}
        for name, value in section.parameters.items():
            if name not in known:
                hint = plugins.nearest(name, _beside(section))
                raise ConfigError(f"attack.{named(name)} = {shown(value)}: unknown key; {hint}")
        return config
    if section.name == OWN:
        return config
    attack = plugins.find("attacks", section.name, ATTACKS, directory)
    function = attack.function if isinstance(attack, Piece) else attack
    given = frozenset({"clients", "first_round"})
    options = resolved(function, section.parameters, given, "attack.", beside=_beside(section))
    if not chosen:
        raise ConfigError(
            f"attack.clients = {chosen}: nobody would attack; say how many do, or attack.name = 'none'"
        )
    if clients is not None:
        _among(chosen, clients)
    return _with(config, "attack", options)


def _among(chosen: int | float | list[int], clients: int) -> None:
    """Whether attackers, as a count, a share or a list, are among so many clients."""
    if isinstance(chosen, list):
        wrong = [client for client in chosen if not 0 <= client < clients]
        if wrong:
            raise ConfigError(f"attack.clients = {wrong[0]}: must lie between 0 and {clients - 1}")
    elif chosen < 0 or (chosen >= 1 and (int(chosen) > clients or chosen != int(chosen))):
        raise ConfigError(
            f"attack.clients = {chosen}: must be a count of at most {clients}, a share below 1, or a list"
        )


def _faults(config: Config, directory: Path | None) -> Config:
    clients = config.split.clients
    for field in ("late_clients", "slow_clients", "drift_clients"):
        given = getattr(config.faults, field)
        count = max(given, default=-1) + 1 if isinstance(given, list) else given
        if clients is not None and count > clients:
            told = (
                f"lie between 0 and {clients - 1}"
                if isinstance(given, list)
                else f"be at most split.clients = {clients}"
            )
            raise ConfigError(f"faults.{field} = {given}: must {told}")
    return config


def _evaluation(config: Config, directory: Path | None) -> Config:
    if config.evaluation.on == "validation" and not config.split.validation and config.data.name != OWN:
        raise ConfigError(
            "split.validation = 0: evaluation.on = 'validation' needs data that clients set aside, such as 0.1"
        )
    return config
