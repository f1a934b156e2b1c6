"""An aggregation rule with its parameters bound, ready to be given one flock's updates."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from flockwise.aggregation import median
from flockwise.errors import PluginError
from flockwise.types import Updates, Vector, Weights

PreAggregation = Callable[[Updates, int, int], Updates]  # updates, attackers among them, seed


@dataclass(frozen=True)
class BoundRule:
    """Calls a rule on a flock's updates.

    `attackers` is how many of ALL clients are expected to lie; a rule that wants to know gets its share
    for the flock at hand, rounded down (Mini-FL: m = n_group / N * M). A flock with fewer replies than the
    rule needs is aggregated by the median of each coordinate (of two, that is the mean) rather than not at all.
    """

    name: str
    call: Callable[..., Vector]
    weighted: bool = False  # by sample counts, which clients report themselves
    wants_attackers: bool = False
    wants_root: bool = False
    attackers: float = 0.0  # a count, or a fraction below 1
    parameters: Mapping[str, object] = field(default_factory=dict)
    before: Sequence[PreAggregation] = ()
    seed: int = 0
    minimum: Callable[..., int] = lambda f, **_: 1  # fewest replies the rule takes against f attackers

    def __call__(
        self, updates: Updates, weights: Weights, clients: int, round: int = 0, root: Vector | None = None
    ) -> Vector:
        """The flock's joint update; `clients` is the number of all clients."""
        expected = (
            self.attackers * len(updates) if self.attackers < 1 else self.attackers * len(updates) / clients
        )
        share = int(expected + 1e-9)
        for prepare in self.before:
            updates = prepare(updates, share, self.seed + round)
        if len(updates) < self.minimum(share, **self.parameters):
            return median(updates)
        arguments = dict(self.parameters)
        if self.weighted and len(weights) == len(updates):
            arguments["weights"] = weights
        if self.wants_attackers:
            arguments["f"] = share
        if self.wants_root:
            arguments["root"] = root
        return self._checked(np.asarray(self.call(updates, **arguments), dtype=np.float32), updates)

    def _checked(self, joint: Vector, updates: Updates) -> Vector:
        """Whatever rule it is: a model must not be ruined by what it returns."""
        if joint.shape != updates.shape[1:]:
            raise PluginError(
                f"aggregation.name = {self.name!r}: returned shape {joint.shape}, must be {updates.shape[1:]}"
            )
        if not np.isfinite(joint).all():
            raise PluginError(f"aggregation.name = {self.name!r}: returned NaN or infinite values")
        return joint
