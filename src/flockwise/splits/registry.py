"""The splits by name, with what a user needs to choose one."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from flockwise.data import Federation
from flockwise.errors import PluginError
from flockwise.splits.by_writer import by_writer
from flockwise.splits.dirichlet import dirichlet
from flockwise.splits.iid import iid
from flockwise.splits.label_swap import label_swap
from flockwise.splits.majority_class import majority_class
from flockwise.splits.noniid_degree import noniid_degree
from flockwise.splits.pathological import pathological
from flockwise.splits.rotation import rotation


@dataclass(frozen=True)
class Split:
    """A way to deal a data set out to clients."""

    name: str
    summary: str
    function: Callable[..., Federation]

    @property
    def defaults(self) -> dict[str, Any]:
        """Every parameter but the data set, with its default."""
        parameters = inspect.signature(self.function).parameters.values()
        return {item.name: item.default for item in parameters if item.name != "dataset"}


SPLITS: dict[str, Split] = {
    split.name: split
    for split in (
        Split("iid", "every client draws from the same distribution", iid),
        Split("pathological", "a few labels for each client, no groups", pathological),
        Split("label_swap", "groups that swap the names of two classes", label_swap),
        Split("rotation", "groups whose images are turned by quarter turns", rotation),
        Split("dirichlet", "label mixes drawn from a Dirichlet distribution", dirichlet),
        Split("by_writer", "one client per writer: FEMNIST, or MNIST with QMNIST's writers", by_writer),
        Split("majority_class", "one majority class per client; groups are super-classes", majority_class),
        Split("noniid_degree", "Mini-FL's groups, visible in address, time or user id", noniid_degree),
    )
}


def find_split(name: str) -> Split:
    """The split of this name; hyphens count as underscores."""
    known = name.replace("-", "_")
    if known not in SPLITS:
        near = get_close_matches(known, SPLITS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(SPLITS)}"
        raise PluginError(f"split = {name!r}: no such split; {hint}")
    return SPLITS[known]
