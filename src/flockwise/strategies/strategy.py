"""What a strategy is: one keyword function that puts a method together."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, ParamSpec

from flockwise.aggregation import Rule, mean
from flockwise.aggregation.rule import as_bound
from flockwise.errors import ConfigError, InputError, PluginError
from flockwise.options import ignored, shown, written
from flockwise.plugins import running
from flockwise.registry import OWN, Piece, Registry, config_name, sayable
from flockwise.stages.method import Method

Options = ParamSpec("Options")
MEAN: Rule = mean()


@dataclass(frozen=True, eq=False, repr=False)
class Strategy(Piece, Generic[Options]):
    """A strategy by its name; calling it with options gives the method."""

    start: Mapping[str, Any] | None = None  # sections of a config that show it at work, for `flockwise new`
    warning: str = ""  # what who chooses it must know first: a line at the head of `flockwise new`
    rule_sees_all: bool = True  # before flocks are found, the rule is given all replies of a round

    @property
    def rule(self) -> Rule | None:
        """The rule that it takes where nothing is said; none if it has no choice of rules."""
        parameter = inspect.signature(self.function).parameters.get("rule")
        return parameter.default if parameter is not None and isinstance(parameter.default, Rule) else None

    def __call__(self, *arguments: Options.args, **options: Options.kwargs) -> Method:
        """The method with these options, checked; `rule` may be a rule, a rule with options, or your own function."""
        given: dict[str, Any] = dict(options)
        takes_rule = "rule" in inspect.signature(self.function).parameters
        usual = {} if self.rule is None or self.rule.section() == MEAN.section() else {"rule": self.rule}
        rule = {"rule": as_bound(given.pop("rule"))} if "rule" in given else usual
        if not takes_rule and rule.pop("rule", MEAN).name != MEAN.name:
            raise ConfigError(f"aggregation.name: {self.name} has a rule of its own; leave it out")
        values = self.resolved(given, "strategy.")
        for name, why in self.ignored(values).items():
            raise ConfigError(f"strategy.{name} = {shown(values[name])}: {why}")
        try:
            with running(f"strategy.name = {self.name!r}", self.function):
                method = self.function(**rule, **values)
        except InputError as error:
            raise ConfigError(f"strategy.{error}") from error
        if not isinstance(method, Method):
            raise PluginError(
                f"strategy.name = {self.name!r}: returned {type(method).__name__}, must be a Method"
            )
        own = any(not sayable(value) for value in values.values())
        told = {name: written(value) if sayable(value) else shown(value) for name, value in values.items()}
        return replace(method, name=OWN if own else self.name, options={**told, **rule})

    def ignored(self, values: Mapping[str, Any]) -> dict[str, str]:
        """The options among these, all resolved, that would count for nothing beside the others, each with why."""
        needed = {name: values[name] for name, default in self.defaults.items() if default is ...}
        return ignored(self.function, values, self.resolved(needed))


STRATEGIES: Registry[Strategy[Any]] = Registry("flockwise.strategies")
GIVEN = frozenset({"rule"})  # options that a config has elsewhere


def strategy(
    summary: str, paper: str = "", **more: Any
) -> Callable[[Callable[Options, Method]], Strategy[Options]]:
    """Makes a keyword function a strategy; `more` are fields of Strategy."""

    def named(function: Callable[Options, Method]) -> Strategy[Options]:
        made: Strategy[Options] = Strategy(
            config_name(function), summary, function, GIVEN, paper=paper, **more
        )
        STRATEGIES.add(made)
        return made

    return named
