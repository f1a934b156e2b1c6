"""The methods by name; each file lies beside its paper's pseudo-code.

Every file of this folder is looked into, and its strategies are names of this package. For type checkers and editors
`make docs` writes the same names into `__init__.pyi`.
"""

from flockwise.stages.method import Method
from flockwise.strategies.finding import find_strategy
from flockwise.strategies.strategy import MEAN, STRATEGIES, Strategy, strategy

__all__ = ["MEAN", "STRATEGIES", "Method", "Strategy", "find_strategy", "strategy"]
__all__ += [piece.function.__name__ for piece in STRATEGIES.values()]
