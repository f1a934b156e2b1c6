"""Every built-in piece passes the batteries that plug-in authors use."""

from typing import Any

import pytest

from flockwise.aggregation import RULES
from flockwise.attacks import ATTACKS
from flockwise.clustering import agglomerative, kmeans_elbow, leiden, louvain
from flockwise.similarity import cosine, l1, l2
from flockwise.splits import SPLITS
from flockwise.strategies import STRATEGIES
from flockwise.testing import (
    AggregatorBattery,
    AttackBattery,
    ClustererBattery,
    SimilarityBattery,
    SplitBattery,
    StrategyBattery,
)
from flockwise.testing.examples import ordinary

GIVEN: dict[str, dict[str, Any]] = {
    "krum": {"f": 2}, "multi-krum": {"f": 2}, "bulyan": {"f": 1}, "centered-clipping": {"radius": 100.0},
    "norm-bound": {"radius": 1000.0}, "fltrust": {"root": ordinary(1)[0]},
}  # fmt: skip


def _batteries(base: type, cases: dict[str, dict[str, Any]]) -> list[type]:
    return [
        type(f"{base.__name__}_{name.replace('-', '_')}", (base,), fields) for name, fields in cases.items()
    ]


RULE_BATTERIES = _batteries(
    AggregatorBattery,
    {
        name: {"rule": staticmethod(rule.function), "parameters": GIVEN.get(name, {}),
               "minimum": rule.minimum(GIVEN.get(name, {}).get("f", 0))}
        for name, rule in RULES.items() if name != "fltrust"
    },
)  # fmt: skip
SIMILARITY_BATTERIES = _batteries(
    SimilarityBattery,
    {
        name: {"measure": staticmethod(f), "distance": name != "cosine"}
        for name, f in (("cosine", cosine), ("l1", l1), ("l2", l2))
    },
)
CLUSTERER_BATTERIES = _batteries(
    ClustererBattery,
    {
        "louvain": {"cluster": staticmethod(louvain)},
        "leiden": {"cluster": staticmethod(leiden)},
        "agglomerative": {"cluster": staticmethod(agglomerative), "takes": "distance"},
        "kmeans-elbow": {"cluster": staticmethod(kmeans_elbow), "takes": "points"},
    },
)
ATTACK_BATTERIES = _batteries(
    AttackBattery, {name: {"attack": entry.factory()} for name, entry in ATTACKS.items()}
)
SPLIT_BATTERIES = _batteries(
    SplitBattery,
    {name: {"split": staticmethod(split.function)} for name, split in SPLITS.items() if name != "by_writer"},
)
STRATEGY_BATTERIES = _batteries(
    StrategyBattery,
    {
        name: {
            "build": staticmethod(lambda setting, chosen=strategy: chosen.build(chosen.options(), setting))
        }
        for name, strategy in STRATEGIES.items()
    },
)
ALL = [
    *RULE_BATTERIES,
    *SIMILARITY_BATTERIES,
    *CLUSTERER_BATTERIES,
    *ATTACK_BATTERIES,
    *SPLIT_BATTERIES,
    *STRATEGY_BATTERIES,
]
CASES = [(battery, name) for battery in ALL for name in dir(battery) if name.startswith("test_")]


@pytest.mark.parametrize(("battery", "test"), CASES, ids=[f"{b.__name__}-{t}" for b, t in CASES])
def test_built_in_pieces_pass_their_battery(battery: type, test: str) -> None:
    function = getattr(battery(), test)
    for mark in getattr(function, "pytestmark", []):
        if mark.name == "parametrize":
            for value in mark.args[1]:
                function(value)
            return
    function()
