"""Rules that turn the clients' updates into one; each `f(updates, ...) -> vector`, float32.

`updates` is (clients, parameters). Nothing is modified; NaN, Inf, wrong shapes and impossible parameters are
refused with `InputError`. `RULES` and `PRE_AGGREGATIONS` hold them by config name with their contracts.
Called without updates, a rule is bound to its options for a strategy: `flic(rule=median())`.

For type checkers and editors `make docs` writes the names of all files into `__init__.pyi`.
"""

from flockwise.aggregation.rule import (
    PRE_AGGREGATIONS,
    RULES,
    Rule,
    RulePiece,
    pre_aggregation,
    rule,
    rule_from,
)

__all__ = ["PRE_AGGREGATIONS", "RULES", "Rule", "RulePiece", "pre_aggregation", "rule", "rule_from"]
__all__ += [piece.function.__name__ for piece in (*RULES.values(), *PRE_AGGREGATIONS.values())]
