"""What of a config will do nothing: no mistake for certain, but worth a line before hours of training."""

from flockwise.config.sections import Config
from flockwise.options import rounds_named
from flockwise.registry import OWN
from flockwise.strategies import find_strategy


def doubts(config: Config) -> list[str]:
    """A line for each setting that this run never gets to."""
    late = [
        (f"strategy.{name}", round, "nothing comes of it")
        for name, round in _rounds_of_the_strategy(config).items()
    ]
    late += [("checkpoint.at", round, "there will be no such checkpoint") for round in config.checkpoint.at]
    if config.attack.name != "none":
        late.append(("attack.first_round", config.attack.first_round, "nobody attacks"))
    if config.faults.late_clients:
        late.append(("faults.late_round", config.faults.late_round, "they never join"))
    if config.faults.drift_clients:
        late.append(("faults.drift_round", config.faults.drift_round, "nothing drifts"))
    found = [
        f"{field}: is for round {round}, but the run ends after round {config.rounds}: {what}; raise rounds, or lower it"
        for field, round, what in late
        if round > config.rounds
    ]
    for field, other in (("late_round", "late_clients"), ("drift_round", "drift_clients")):
        if getattr(config.faults, field) > 1 and not getattr(config.faults, other):
            found.append(
                f"faults.{field} = {getattr(config.faults, field)}: faults.{other} is 0, so nothing comes of it"
            )
    return found


def _rounds_of_the_strategy(config: Config) -> dict[str, int]:
    """The strategy's options that are the number of a round, as far as they are set."""
    if config.strategy.name == OWN or ":" in config.strategy.name:
        return {}
    named = rounds_named(find_strategy(config.strategy.name).function)
    options = config.strategy.parameters
    return {name: options[name] + later for name, later in named.items() if type(options.get(name)) is int}
