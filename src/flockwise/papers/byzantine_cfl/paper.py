"""The cells of Byzantine CFL: three data sets, four scenarios, plain and clustered."""

from flockwise.papers.byzantine_cfl import claims
from flockwise.papers.cells import Cell, Measure, Paper, Twin
from flockwise.papers.finished import Finished, global_accuracy

PUBLISHED = {  # data set: (FL, CFL) in percent for each scenario, Table 1
    "mnist": {"byzantine": (9.8, 93.19), "noisy": (96.9, 97.4), "label-flip": (91.3, 97.4), "clean": (97.5, 97.4)},
    "fashion-mnist": {"byzantine": (9.6, 78.0), "noisy": (77.12, 79.7), "label-flip": (60.6, 79.7),
                      "clean": (79.9, 80.2)},
    "cifar-10": {"byzantine": (10.0, 61.7), "noisy": (70.4, 74.6), "label-flip": (40.1, 74.7),
                 "clean": (76.0, 75.3)},
}  # fmt: skip
ATTACKS = {
    "byzantine": ("attack.name=gaussian", "attack.std=1.0"),
    "noisy": ("attack.name=noise", "attack.low=-10.0", "attack.high=10.0"),
    "label-flip": ("attack.name=label-to", "attack.label=0"),
    "clean": (),
}
SIZES = {
    "full": (),
    "short": ("split.clients=30", "split.samples=500", "rounds=40"),
    "smoke": ("data.name=digits", "model.name=softmax", "split.clients=10", "rounds=2", "training.epochs=1"),
}
FAULTY = {"full": 30, "short": 9, "smoke": 3}


def cells(scale: str) -> list[Cell]:
    """Every cell of Table 1; Figure 2 is drawn from the clustered ones."""
    return [
        _cell(scale, dataset, scenario, method, published)
        for dataset, scenarios in PUBLISHED.items()
        for scenario, pair in scenarios.items()
        for method, published in zip(("FL", "CFL"), pair, strict=True)
    ]


def _cell(scale: str, dataset: str, scenario: str, method: str, published: float) -> Cell:
    data = () if scale == "smoke" else (f"data.name={dataset}",)
    model = ("model.name=cifar-cnn",) if dataset == "cifar-10" and scale == "full" else ()
    lies = (*ATTACKS[scenario], f"attack.clients={FAULTY[scale]}") if scenario != "clean" else ()
    measures = [Measure("test accuracy", global_accuracy, published)]
    clustered: tuple[str, ...] = ()
    if method == "CFL":
        # cohesion -1 is the paper's rule: alpha_cross alone decides
        clustered = ("strategy.name=byzantine-cfl", "strategy.threshold=0.02", "strategy.cohesion=-1")
        expected = 0.0 if scenario == "clean" else float(FAULTY[scale])
        measures += [
            Measure("faulty clients removed", lambda f: _removed(f)[0], expected, "fact"),
            Measure("honest clients removed", lambda f: _removed(f)[1], 0.0, "fact"),
            Measure("round of the last removal", last_removal, None, "number"),
        ]
    overrides = (*SIZES[scale], *data, *model, *lies, *clustered)
    curves = ("alpha_cross", "apart", "accuracy") if clustered else ("accuracy",)
    # Where nobody is removed, CFL is federated averaging.
    twin = (
        Twin(f"{dataset}, clean, CFL", "honest clients removed")
        if scenario == "clean" and not clustered
        else None
    )
    return Cell(
        "1", f"{dataset}, {scenario}, {method}", "base", overrides, tuple(measures), curves=curves, twin=twin
    )


def _removed(finished: Finished) -> tuple[float, float]:
    apart = finished.run.array_at("apart", finished.last)
    assert apart is not None
    faulty = sum(
        bool(client["attacker"]) for client, gone in zip(finished.run.clients, apart, strict=True) if gone
    )
    return float(faulty), float((apart != 0).sum() - faulty)


def last_removal(finished: Finished) -> float:
    """The last round in which clients were set apart; 0 if there is none."""
    return float(max((event.round for event in finished.run.events if event.kind == "quarantine"), default=0))


PAPER = Paper(
    "byzantine-cfl", "Byzantine robustness of CFL (Sattler et al., ICASSP 2020)", "byzantine_cfl", cells,
    claims.CLAIMS, claims.FIGURES, claims.READING, claims.SCALES, claims.NOTES,
)  # fmt: skip
