"""Tests that every built-in piece passes, for authors of plug-ins to reuse.

Subclass the battery of your kind in your own test file and give it your piece:

    from flockwise.testing import AggregatorBattery

    class TestMyRule(AggregatorBattery):
        rule = staticmethod(my_rule)
"""

from flockwise.testing.aggregators import AggregatorBattery, PreAggregationBattery
from flockwise.testing.attacks import AttackBattery
from flockwise.testing.clusterers import ClustererBattery
from flockwise.testing.fakes import FakeEngine
from flockwise.testing.similarities import SimilarityBattery
from flockwise.testing.splits import SplitBattery
from flockwise.testing.strategies import StrategyBattery
from flockwise.testing.tasks import TaskBattery

__all__ = [
    "AggregatorBattery",
    "AttackBattery",
    "ClustererBattery",
    "FakeEngine",
    "PreAggregationBattery",
    "SimilarityBattery",
    "SplitBattery",
    "StrategyBattery",
    "TaskBattery",
]
