"""What a search tries: a small grid whole, otherwise what Optuna proposes after what it has seen."""

import itertools
import math
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

from flockwise.errors import ConfigError
from flockwise.numbers import number_of
from flockwise.studies.file import Range, Tune

if TYPE_CHECKING:
    from optuna.trial import Trial

Tried = dict[str, Any]  # field: value
Outcome = tuple[Tried, float | None]  # settings and what they gave
_MOST_AT_RANDOM = 5  # tries before Optuna's model of what is good is asked


def proposals(tune: Tune, known: Sequence[Outcome] = ()) -> Generator[Tried, float | None, None]:
    """Settings to try after those that are `known`; it is sent what each gave (None: it failed).

    The same answers bring about the same proposals, so a search that was interrupted goes on as if it had not been.
    """
    return _grid(tune, len(known)) if grid_size(tune) <= tune.tries else _optuna(tune, known)


def budget(tune: Tune) -> int:
    """How many tries each method gets."""
    return int(min(tune.tries, grid_size(tune)))


def grid_size(tune: Tune) -> float:
    """How many combinations there are; infinite with a range among them."""
    return math.prod(len(values) if isinstance(values, list) else math.inf for values in tune.search.values())


def _grid(tune: Tune, done: int) -> Generator[Tried, float | None, None]:
    for values in itertools.islice(itertools.product(*tune.search.values()), done, None):
        yield dict(zip(tune.search, values, strict=True))


def _optuna(tune: Tune, known: Sequence[Outcome]) -> Generator[Tried, float | None, None]:
    try:
        import optuna
    except ImportError as error:
        raise ConfigError(
            "tune: needs Optuna (pip install 'flockwise[tuning]'), or lists with no more combinations than tries"
        ) from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.TPESampler(seed=tune.seed, n_startup_trials=min(_MOST_AT_RANDOM, tune.tries))
    higher = number_of(tune.number).better == "higher"
    search = optuna.create_study(sampler=sampler, direction="maximize" if higher else "minimize")
    failed = optuna.trial.TrialState.FAIL
    for place in range(tune.tries):
        trial = search.ask()
        settings = {name: _suggested(trial, name, values) for name, values in tune.search.items()}
        if (
            place < len(known) and settings != known[place][0]
        ):  # proposed by another version: still worth knowing
            search.tell(trial, state=failed)
            told, value = known[place]
            if value is not None:
                search.add_trial(
                    optuna.trial.create_trial(params=told, distributions=trial.distributions, value=value)
                )
            continue
        value = known[place][1] if place < len(known) else (yield settings)
        if value is None:
            search.tell(trial, state=failed)
        else:
            search.tell(trial, value)


def _suggested(trial: "Trial", name: str, values: list[Any] | Range) -> Any:
    if isinstance(values, list):
        return trial.suggest_categorical(name, values)
    if values.whole:
        return trial.suggest_int(name, math.ceil(values.low), math.floor(values.high), log=values.log)
    return trial.suggest_float(name, values.low, values.high, log=values.log)
