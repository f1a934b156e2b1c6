"""The cells of FL+HC: client fraction by rounds before clustering, distance by linkage, and IID data."""

from collections.abc import Callable

from flockwise.papers.cells import Cell, Measure, Paper, Prefix
from flockwise.papers.finished import Finished
from flockwise.papers.fl_hc import claims
from flockwise.papers.fl_hc.tables import BEFORE, BY_FRACTION, BY_LINKAGE, CONFIGS, FRACTIONS, LINKAGES, Row

ROUNDS = {"full": 50, "short": 20, "smoke": 5}  # not counting the round in which everybody trains
CLIENTS = {"full": 100, "short": 40, "smoke": 12}
SIZES = {
    "full": (),
    "short": ("model.name=mlp", f"split.clients={CLIENTS['short']}", "split.samples=200"),
    "smoke": (
        "data.name=digits",
        "model.name=softmax",
        f"split.clients={CLIENTS['smoke']}",
        "training.epochs=1",
    ),
}
PAIRS = {"full": 45, "short": 30, "smoke": 6}  # of digits; with few clients about as many as occur among them
_SMOKE_BEFORE = {1: 1, 3: 2, 5: 2, 10: 3}


def cells(scale: str) -> list[Cell]:
    """Every cell, the tables in the paper's order."""
    found: list[Cell] = []
    for table, rows in BY_FRACTION.items():
        settings = [(fraction, before) for fraction in FRACTIONS for before in BEFORE]
        threshold = 10.0 if table == "III" else 3.0
        for (fraction, before), row in zip(settings, rows, strict=True):
            cut = ("strategy.metric=l2", "strategy.linkage=ward", f"strategy.threshold={threshold}")
            found.append(_cell(scale, table, f"cf {fraction:g}, n {before}", fraction, before, cut, row))
    for table, rows in BY_LINKAGE.items():
        for (metric, linkage), row in zip(LINKAGES, rows, strict=True):
            # With L1 the paper's clients seem to have stayed alone (see the claims).
            many = CLIENTS[scale] if metric == "l1" else PAIRS[scale]
            level = f"strategy.flocks={many}" if table == "IV" else "strategy.min_separation=0"
            cut = (f"strategy.metric={metric}", f"strategy.linkage={linkage}", level)
            found.append(_cell(scale, table, f"{metric}, {linkage}", 0.2, 10, cut, row))
    return [*found, *_iid(scale), *_plain(scale)]


def _plain(scale: str) -> list[Cell]:
    """Federated averaging beside it, for the figures; the paper gives only ratios to it."""
    found = []
    for table in ("I", "II", "III"):
        fraction = 0.1 if table == "III" else 0.2
        shared = _shared(scale, CONFIGS[table], fraction)
        measures = (Measure(f"accuracy at round {ROUNDS[scale]}", _accuracy(None), None),)
        found.append(Cell("FL", f"{table}, cf {fraction:g}", _config(scale, CONFIGS[table]),
                          (*shared, f"rounds={ROUNDS[scale]}"), measures, None, ("accuracy",),
                          _shares_by_round(_target(table))))  # fmt: skip
    return found


def _cell(
    scale: str, table: str, name: str, fraction: float, before: int, cut: tuple[str, ...], row: Row
) -> Cell:
    config, target = CONFIGS[table], _target(table)
    before = _rounds_before(scale, before)
    after, end = row or (None, None, None, None), f"at round {ROUNDS[scale]}"
    measures = (
        Measure("accuracy after clustering", _accuracy(before + 2), after[0]),
        Measure(f"accuracy {end}", _accuracy(None), after[1]),
        Measure(f"clients at {target:.0%} after clustering", _share(target, before + 2), after[2], "number"),
        Measure(f"clients at {target:.0%} {end}", _share(target, None), after[3], "number"),
        Measure("flocks", lambda f: f.fact("flocks"), None, "number"),
    )
    return _forked(scale, table, name, config, fraction, before, cut, measures, target)


def _target(table: str) -> float:
    return 0.8 if CONFIGS[table] == "femnist" else 0.99


def _iid(scale: str) -> list[Cell]:
    """Nothing is split, but after a single round, and with the Manhattan distance (section III)."""
    found = []
    for before in BEFORE:
        cut = ("strategy.metric=l2", "strategy.linkage=ward", "strategy.threshold=3.0")
        found.append(_forked(scale, "IID", f"cf 0.1, n {before}", "iid", 0.1, _rounds_before(scale, before), cut,
                             _iid_measures(1.0 if before > 1 else None)))  # fmt: skip
    for metric in ("cosine", "l2", "l1"):
        auto = (f"strategy.metric={metric}", "strategy.linkage=complete")
        found.append(_forked(scale, "IID", f"{metric}, complete", "iid", 0.2, _rounds_before(scale, 10), auto,
                             _iid_measures(None if metric == "l1" else 1.0)))  # fmt: skip
    return found


def _iid_measures(flocks: float | None) -> tuple[Measure, ...]:
    return (
        Measure("flocks", lambda f: f.fact("flocks"), flocks, "number" if flocks is None else "fact"),
        Measure("accuracy at the end", _accuracy(None), 99.1 if flocks else None),
    )


def _forked(
    scale: str, table: str, name: str, config: str, fraction: float, before: int, cut: tuple[str, ...],
    measures: tuple[Measure, ...], target: float = 0.99,
) -> Cell:  # fmt: skip
    shared, config = _shared(scale, config, fraction), _config(scale, config)
    strategy = ("strategy.name=fl-hc", f"strategy.rounds_before={before}", *cut)
    overrides = (*shared, f"rounds={ROUNDS[scale] + 1}", *strategy)
    return Cell(table, name, config, overrides, measures, Prefix(config, shared, before), ("accuracy",),
                _shares_by_round(target), decides_at=before + 1)  # fmt: skip


def _config(scale: str, config: str) -> str:
    return "writers_smoke" if config == "femnist" and scale == "smoke" else config


def _shared(scale: str, config: str, fraction: float) -> tuple[str, ...]:
    small = SIZES[scale]
    if config == "femnist" and scale != "smoke":  # writers have the samples they have
        small = tuple(item for item in small if not item.startswith("split.samples"))
        if scale == "short":  # the perceptron does not learn these dark images with 0.1
            small = (*small, "training.learning_rate=0.03")
    return (*small, f"sampling.fraction={fraction}")


def _rounds_before(scale: str, before: int) -> int:
    return _SMOKE_BEFORE[before] if scale == "smoke" else before


def _accuracy(round: int | None) -> Callable[[Finished], float]:
    return lambda finished: 100.0 * finished.fact("accuracy", round)


def _shares_by_round(target: float) -> Callable[[Finished], dict[str, list[list[float]]]]:
    def read(finished: Finished) -> dict[str, list[list[float]]]:
        shares = [
            round(100.0 * finished.at_target(target, number), 2) for number in finished.run.rounds.tolist()
        ]
        return {"clients at the target": [shares]}

    return read


def _share(target: float, round: int | None) -> Callable[[Finished], float]:
    return lambda finished: 100.0 * finished.at_target(target, round)


PAPER = Paper(
    "fl-hc", "FL+HC (Briggs, Fan and Andras, IJCNN 2020)", "fl_hc", cells, claims.CLAIMS, claims.FIGURES, claims.READING,
    claims.SCALES, claims.NOTES,
)  # fmt: skip
