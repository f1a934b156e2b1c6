"""Federations changed for an experiment: clean data set aside for the server, clients whose data drifts."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from flockwise.data.federation import Federation
from flockwise.data.recipes import Recipes, Sharing
from flockwise.data.shard import Shard
from flockwise.errors import ConfigError
from flockwise.rng import generator


def set_root_aside(federation: Federation, samples: int, seed: int) -> tuple[Federation, Shard | None]:
    """Take clean samples for the server out of the clients' training data, under their true labels."""
    if not samples:
        return federation, None
    shards = federation.shards
    if isinstance(shards, Recipes) and isinstance(shards.deal, Sharing):  # clients draw from what is left
        taken = _taken(shards.deal.trained, samples, seed)
        return Federation(federation.dataset, replace(shards, deal=shards.deal.without(taken))), _root(taken)
    taken = _taken(np.unique(np.concatenate([shard.train for shard in shards])), samples, seed)
    fewer = tuple(replace(shard, train=np.setdiff1d(shard.train, taken)) for shard in shards)
    return Federation(federation.dataset, fewer), _root(taken)


def _taken(held: NDArray[np.int64], samples: int, seed: int) -> NDArray[np.int64]:
    if samples >= len(held):
        raise ConfigError(f"root.samples = {samples}: clients hold only {len(held)} training samples in all")
    return np.sort(generator(seed, "root data").choice(held, size=samples, replace=False))


def _root(taken: NDArray[np.int64]) -> Shard:
    return Shard(taken, taken, taken[:0])


def drifted(federation: Federation, clients: int, seed: int) -> Federation:
    """The same federation after some clients' data has become that of the next group."""
    groups, shards = federation.groups, federation.shards
    kinds = {} if groups is None else {
        int(g): shards[int(np.flatnonzero(groups == g)[0])] for g in np.unique(groups)
    }  # fmt: skip
    if groups is None or len({(kind.relabel, kind.turns, kind.view) for kind in kinds.values()}) < 2:
        raise ConfigError(
            f"faults.drift_clients = {clients}: this split has no groups to drift between; "
            "label_swap, rotation and feature_shift have"
        )
    movers = generator(seed, "drift").choice(federation.clients, size=clients, replace=False)
    if isinstance(shards, Recipes):  # whose kinds are in the order of their groups
        after = (groups[movers] + 1) % len(kinds)
        return Federation(federation.dataset, shards.with_kinds(movers, after))
    changed = list(shards)
    for client in movers.tolist():
        group = (int(groups[client]) + 1) % len(kinds)
        kind = kinds[group]
        changed[client] = replace(
            changed[client], relabel=kind.relabel, turns=kind.turns, view=kind.view, group=group
        )
    return Federation(federation.dataset, tuple(changed))
