"""Any combination of pieces, straight from the config: the methods no paper has tried."""

from collections.abc import Callable
from typing import Any, Final, Literal

import numpy as np
from pydantic import Field, model_validator

from flockwise.clustering import CLUSTERERS, from_estimator
from flockwise.errors import ConfigError
from flockwise.pieces.aggregation import Aggregation, Merged, OverKnown, PerFlock
from flockwise.pieces.attribution import Attribution, Communities, OneModel, OwnFlock
from flockwise.pieces.evidence import LatestModels, LatestUpdates, ThisRound
from flockwise.pieces.grouping import Bipartition, Clustered, Grouping, Measure
from flockwise.pieces.measures import MEASURES
from flockwise.pieces.metadata import ByFeature, Metadata, OneModelByBoundaries
from flockwise.pieces.schedule import Every, Never, Schedule, WhenStable
from flockwise.pieces.separation import Kind
from flockwise.plugins import find, nearest
from flockwise.server.method import Evidence, Method
from flockwise.strategies.options import JudgeOptions, Setting
from flockwise.types import Labels

_DEFAULT_EVIDENCE: Final = "latest-updates"


class CustomOptions(JudgeOptions):
    """One choice of each kind."""

    evidence: Literal["this-round", "latest-updates", "latest-models", "metadata"] = Field(
        _DEFAULT_EVIDENCE, description="what clients are compared on"
    )
    max_age: int | None = Field(None, ge=1, description="latest-updates: ignore older ones")
    similarity: str = Field(
        "cosine", description="a name from `flockwise list similarities`, or module:function"
    )
    power: float = Field(1.0, gt=0, description="exponent on the similarities")
    clustering: str = Field("louvain", description="a name from `flockwise list clusterers`, or module:name")
    clustering_parameters: dict[str, Any] = Field(
        default_factory=dict, description="as `flockwise list clusterers` shows them"
    )
    min_separation: float = Field(
        0.0, ge=0, description="flocks less apart than this are not acted on; 0: always"
    )
    when: Literal["never", "once", "every", "stable"] = Field(
        "once", description="rounds in which flocks are looked for; stable: once they stop changing"
    )
    first: int = Field(5, ge=1, description="once, every: the first round in which flocks are looked for")
    every: int = Field(1, ge=1, description="every: rounds from one look to the next")
    census: bool = Field(False, description="all clients train in the rounds in which flocks are looked for")
    patience: int = Field(5, ge=1, description="stable: rounds the flocks must stay the same")
    scope: Literal["all", "within"] = Field(
        "all", description="compare all clients anew, or split inside each flock"
    )
    start: Literal["joint", "own"] = Field(
        "joint",
        description="new flocks start from the model after this round, or each from its own mean of it",
    )
    keep: Literal["all", "largest"] = Field(
        "all", description="within: go on with all parts of a split, or set all but the largest apart"
    )
    attribution: Literal["flock", "one-model", "avg", "1nn", "wnn"] = Field(
        "flock", description="the model a client gets: its flock's, one for all, or as in communities"
    )
    group_weights: Literal["equal", "size"] = Field("equal", description="one-model: how groups count")
    aggregate: Literal["this-round", "known"] = Field(
        "this-round", description="replies of this round, or the newest models of all known members"
    )
    place: Literal["validation", "largest"] = Field(
        "validation", description="clients without a flock: where they do best, or the largest"
    )
    follow: float | None = Field(None, ge=0, description="move clients that do this much better elsewhere")

    @property
    def keeps_models(self) -> bool:
        """Whether flocks are made of the clients' newest models, which are then what is known of them."""
        return self.aggregate == "known" or self.attribution in ("avg", "1nn", "wnn")

    @model_validator(mode="after")
    def _fit_together(self) -> "CustomOptions":
        """Refuse what would be ignored."""
        if self.keep == "largest" and self.scope == "all":
            raise ConfigError(
                "strategy.keep = 'largest': needs scope = 'within'; for scope = 'all' use judge = 'largest'"
            )
        if self.when == "stable" and self.scope == "within":
            raise ConfigError(
                "strategy.when = 'stable': needs scope = 'all'; inside flocks use when = 'every'"
            )
        if self.keeps_models and self.evidence not in (_DEFAULT_EVIDENCE, "latest-models"):
            raise ConfigError(
                f"strategy.evidence = {self.evidence!r}: aggregate = 'known' and the attributions 'avg', '1nn' "
                "and 'wnn' compare models; choose evidence 'latest-models', or another attribution"
            )
        return self


def custom(options: CustomOptions, setting: Setting) -> Method:
    """The method these choices make."""
    if setting.rule.wants_root and options.keeps_models:
        raise ConfigError(
            f"aggregation.name = {setting.rule.name!r}: aggregate = 'known' and the attributions 'avg', '1nn' and "
            "'wnn' average whole models, not updates of one model; choose a rule without a root set"
        )
    kinds: dict[str, Evidence] = {
        "this-round": ThisRound(setting.layers),
        "latest-updates": LatestUpdates(options.max_age, setting.layers),
        "latest-models": LatestModels(setting.layers),
        "metadata": Metadata(),
    }
    return Method(
        name="custom",
        sampler=setting.sampler(per_flock=options.attribution == "flock"),
        evidence=kinds["latest-models" if options.keeps_models else options.evidence],
        grouping=None if options.when == "never" else _grouping(options, setting),
        when=_schedule(options),
        attribution=_attribution(options, setting),
        aggregation=_aggregation(options, setting),
        scope=options.scope,
        start=options.start,
        skip_census=options.census and options.start == "joint",
        keep_largest=options.keep == "largest",
        place=options.place if options.attribution == "flock" else "largest",
        follow=options.follow,
        judge=options.judging(),
        recovery=options.recovery(),
        needs_root=setting.rule.wants_root,
    )


def _schedule(options: CustomOptions) -> Schedule:
    if options.when == "never":
        return Never()
    if options.when == "stable":
        return WhenStable(options.patience)
    return Every(options.first, None if options.when == "once" else options.every, options.census)


def _grouping(options: CustomOptions, setting: Setting) -> Grouping:
    if options.evidence == "metadata":
        return ByFeature(seed=setting.seed)
    measure = find("similarities", options.similarity, MEASURES, setting.directory)
    if not isinstance(measure, Measure):  # a user's own function of the updates
        function: Callable[..., Any] = measure
        measure = Measure(
            options.similarity, "similarity", lambda known: np.asarray(function(known.rows), np.float64)
        )
    if options.clustering == "bipartition":
        _check_parameters(options, {"threshold", "decay", "eps1", "eps2", "cohesion"})
        if options.min_separation:
            raise ConfigError(
                f"strategy.min_separation = {options.min_separation:g}: bipartition has a threshold of its own, "
                "clustering_parameters = {threshold = 0.02}"
            )
        own = None if (options.similarity, options.power) == ("cosine", 1.0) else measure
        return Bipartition(**options.clustering_parameters, measure=own, power=options.power)
    cluster, takes = _clusterer(options, setting)
    return Clustered(measure, cluster, takes, options.power, options.min_separation)


def _clusterer(options: CustomOptions, setting: Setting) -> tuple[Callable[[np.ndarray], Labels], Kind]:
    chosen = find("clusterers", options.clustering, CLUSTERERS, setting.directory)
    parameters = options.clustering_parameters
    if hasattr(chosen, "function"):  # built in
        _check_parameters(options, set(chosen.parameters))
        seeded = {"seed": setting.seed} if "seed" in chosen.parameters and "seed" not in parameters else {}

        def built_in(square: np.ndarray) -> Labels:
            labels = chosen.function(square, **seeded, **parameters)
            return np.asarray(labels[0] if isinstance(labels, tuple) else labels)

        return built_in, chosen.takes
    if hasattr(chosen, "fit_predict") or isinstance(chosen, type):  # an estimator, or its class
        estimator = _estimator(chosen, parameters) if isinstance(chosen, type) else chosen
        takes: Kind = "points"
        if getattr(estimator, "metric", None) == "precomputed":
            takes = "distance"
        elif getattr(estimator, "affinity", None) == "precomputed":
            takes = "similarity"
        return from_estimator(estimator), takes
    return (lambda square: np.asarray(chosen(square, **parameters))), "similarity"


def _check_parameters(options: CustomOptions, known: set[str]) -> None:
    for key in options.clustering_parameters:
        if key not in known:
            hint = nearest(key, sorted(known)) if known else "it takes none"
            raise ConfigError(
                f"strategy.clustering_parameters.{key}: unknown key of {options.clustering}; {hint}"
            )


def _estimator(kind: type, parameters: dict[str, Any]) -> Any:
    try:
        return kind(**parameters)
    except TypeError as error:
        raise ConfigError(f"strategy.clustering_parameters: {error}") from error


def _attribution(options: CustomOptions, setting: Setting) -> Attribution:
    if options.attribution == "flock":
        return OwnFlock()
    if options.attribution == "one-model":
        return OneModelByBoundaries() if options.evidence == "metadata" else OneModel()
    return Communities(options.attribution, layers=setting.layers)


def _aggregation(options: CustomOptions, setting: Setting) -> Aggregation:
    if options.attribution == "one-model":
        return Merged(setting.rule, options.group_weights, wait=False)
    if options.keeps_models:
        return OverKnown(setting.rule)
    return PerFlock(setting.rule)
