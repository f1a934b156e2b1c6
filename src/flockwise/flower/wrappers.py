"""What others of Flower's parts may ask of a strategy: a wrapper for privacy, a workflow for secure aggregation.

They see one model for all and plain sums of updates. Flocks are found by comparing single clients' updates, which is
what they are made to hide; so they are refused, with what works instead.
"""

from typing import Any, NoReturn

from flockwise.errors import InputError


class NotWrapped:
    """Refuses to be called by anything but the user's ServerApp."""

    def summary(self) -> NoReturn:
        """Asked for by Flower's wrappers for differential privacy, before anything else."""
        raise InputError(
            "Flocks inside another strategy: Flower's wrappers for differential privacy cannot go around it; start it "
            "by itself, and add noise on the clients with LocalDpMod in the ClientApp, or bound updates with max_norm"
        )

    def initialize_parameters(self, *_: Any, **__: Any) -> NoReturn:
        """Asked for by Flower's workflows, before anything else."""
        raise InputError(
            "Flocks inside a workflow: SecAgg+ hides single clients' updates, and flocks are found by comparing them; "
            "call start(grid, ...) in the ServerApp, and take secaggplus_mod out of the ClientApp"
        )

    def configure_train(self, *_: Any, **__: Any) -> NoReturn:
        """Asked for by other wrappers."""
        self.summary()

    aggregate_train = configure_evaluate = aggregate_evaluate = configure_train


_SECAGG = "secaggplus"  # in the name of the record that its client side misses
MASKED = "this app masks its updates for SecAgg+, which cannot be compared; take secaggplus_mod out of the ClientApp"


def asks_for_secagg(reason: str) -> bool:
    """Whether a client could not answer because it expects the rounds of SecAgg+."""
    return _SECAGG in reason
