"""The cells of FLIC."""

from collections.abc import Callable

from flockwise.papers.cells import Cell, Measure, Paper, Prefix
from flockwise.papers.finished import Finished
from flockwise.papers.flic import claims, readers
from flockwise.papers.flic.regression import two_clients

_SMALL = (
    "data.name=digits",
    "model.name=softmax",
    "split.clients=20",
    "training.epochs=1",
    "evaluation.every=1",
)
_MLP = ("model.name=mlp",)
SIZES: dict[str, dict[str, tuple[str, ...]]] = {
    "full": {"I": (), "5": (), "II": ()},
    "short": {"I": _MLP, "5": _MLP, "II": _MLP},
    "smoke": {"I": _SMALL, "5": _SMALL, "II": _SMALL},
}
WARMUP = {"full": 200, "short": 30, "smoke": 2}
WATCHED = {"full": 100, "short": 40, "smoke": 3}
ATTACKED = {"full": 300, "short": 60, "smoke": 4}
TABLE_2 = {  # attackers: FedAvg, median, FLIC's loyal flocks, how many they are, clients in each
    30: (0.94, 0.98, 0.95, 3.5, 20.0),
    40: (0.91, 0.57, 0.94, 1.09, 55.0),
    50: (0.14, 0.10, 0.91, 1.0, 50.0),
    60: (0.10, 0.10, 0.97, 1.1, 40.0),
}
_KEEP_UPDATES = ("strategy.name=flic", "strategy.warmup=100000", "strategy.self_loops=true",
                 "strategy.min_separation=0", "strategy.refine=1000")  # fmt: skip


def cells(scale: str) -> list[Cell]:
    """Every cell, cheapest first."""
    return [*_figure_1(), *_watched(scale), *_table_1(scale), *_table_2(scale)]


def _figure_1() -> list[Cell]:
    return [
        Cell("Figure 1", name, "", (), (
            Measure("global weight after 10 rounds", lambda finished: finished.fact("global"), target, "number"),
            Measure("distance of the clients' own weights", lambda f: f.fact("apart"), own, "number"),
        ), curves=("global", "first", "second"), compute=lambda name, seed: two_clients({"data": name}, seed))
        for name, target, own in (("IID", 45.0, 0.0), ("non-IID", 45.0, None))
    ]  # fmt: skip


def _watched(scale: str) -> list[Cell]:
    sizes = (*SIZES[scale]["5"], f"rounds={WATCHED[scale]}")
    evolution = (
        Measure("flocks after round 1", lambda f: f.fact("flocks", 1), 10.0, "number"),
        Measure("pure from round", readers.pure_from, 34.0, "number"),
        Measure("pure and complete from round", readers.right_from, 49.0, "number"),
        Measure("flocks at the end", lambda f: f.fact("flocks"), 5.0, "fact"),
    )
    rounds = {"full": 50, "short": 20, "smoke": 3}[scale]
    matrix = (
        Measure("clients compared after round 1", lambda f: readers.compared(f, 1), 10.0, "number"),
        Measure("clients compared at the end", readers.compared, 99.0, "number"),
        Measure("similarity within less between groups", readers.contrast, None, "number"),
    )
    rotated = (f"rounds={rounds}", "split.name=rotation", "split.groups=4", "training.epochs=5",
               "training.batch_size=10")  # fmt: skip
    small = SIZES[scale]["5"]
    return [
        Cell("Figure 5", "label swap", "watching", sizes, evolution, curves=("flocks", "purity", "accuracy")),
        Cell("Figure 3", "rotation", "watching", (*rotated, *small), matrix, arrays=readers.matrices),
    ]


def _table_1(scale: str) -> list[Cell]:
    warmup = WARMUP[scale]
    sizes = (
        *SIZES[scale]["I"],
        f"rounds={warmup + 5}",
        f"evaluation.every={min(warmup, 5) if warmup > 5 else 1}",
    )
    found = [
        Cell("I", "IID", "iid", sizes, (
            Measure("accuracy", lambda f: f.fact("accuracy"), 0.99, "share"),
        ), curves=("accuracy",))
    ]  # fmt: skip
    for name, split, groups, before, after in (
        ("label swap", "label_swap", 5, 0.75, 0.99), ("rotation", "rotation", 4, 0.93, 0.98),
    ):  # fmt: skip
        overrides = (*sizes, f"split.name={split}", f"split.groups={groups}", f"strategy.warmup={warmup}")
        measures = (
            Measure("accuracy before", _before(warmup), before, "share"),
            Measure("accuracy after", lambda f: f.fact("accuracy"), after, "share"),
            Measure("flocks", lambda f: f.fact("flocks"), float(groups), "fact"),
            Measure("purity", lambda f: f.fact("purity"), 1.0, "fact"),
        )
        found.append(Cell("I", name, "base", overrides, measures, curves=("accuracy", "flocks")))
    return found


def _before(warmup: int) -> Callable[[Finished], float]:
    return lambda finished: readers.mean_over(finished, warmup // 2 + 1, warmup)


def _table_2(scale: str) -> list[Cell]:
    rounds = ATTACKED[scale]
    sizes = (*SIZES[scale]["II"], f"rounds={rounds}")
    clients = 20 if scale == "smoke" else 100
    best = (Measure("accuracy", readers.best_of_last, None, "share"),)
    found = [Cell("II", "no attack, FedAvg", "attacked", sizes,
                  (Measure("accuracy", readers.best_of_last, 0.99, "share"),), curves=("accuracy",))]  # fmt: skip
    for attackers, (mean, median, loyal, flocks, members) in TABLE_2.items():
        # 60 attackers ruin the model before round 200, so the paper looks for flocks after 50
        after = {"full": 200 if attackers < 60 else 50, "short": 40 if attackers < 60 else 20, "smoke": 3}[
            scale
        ]
        lies = ("attack.name=reverse", f"attack.clients={attackers * clients // 100}")
        prefix = Prefix("attacked", (*SIZES[scale]["II"], *lies, *_KEEP_UPDATES), after - 1)
        found += [
            _row(f"{attackers} attackers, FedAvg", (*sizes, *lies), mean, best, prefix),
            _row(f"{attackers} attackers, median", (*sizes, *lies, "aggregation.name=median"), median, best, None),
            Cell("II", f"{attackers} attackers, FLIC", "attacked",
                 (*sizes, *lies, *_KEEP_UPDATES, f"strategy.warmup={after}"), (
                     Measure("accuracy of loyal clients", readers.best_of_last, loyal, "share"),
                     Measure("loyal flocks", readers.loyal_flocks, flocks, "number"),
                     Measure("clients in a loyal flock", readers.loyal_members, members, "number"),
                     Measure("purity", readers.wolves_apart, 1.0, "fact"),
                 ), prefix, curves=("accuracy",)),
        ]  # fmt: skip
    return found


def _row(
    name: str,
    overrides: tuple[str, ...],
    published: float,
    measures: tuple[Measure, ...],
    prefix: Prefix | None,
) -> Cell:
    named = tuple(Measure(m.name, m.read, published, m.kind) for m in measures)
    return Cell("II", name, "attacked", overrides, named, prefix, curves=("accuracy",))


PAPER = Paper(
    "flic", "FLIC (Espinoza Castellon et al., IJCNN 2022)", "flic", cells, claims.CLAIMS, claims.FIGURES,
    claims.READING, claims.SCALES, claims.NOTES,
)  # fmt: skip
