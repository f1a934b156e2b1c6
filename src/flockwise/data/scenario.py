"""Federations changed for an experiment: clean data set aside for the server, clients whose data drifts."""

from dataclasses import replace

import numpy as np

from flockwise.data.federation import Federation, Shard
from flockwise.errors import ConfigError
from flockwise.rng import generator


def set_root_aside(federation: Federation, samples: int, seed: int) -> tuple[Federation, Shard | None]:
    """Take clean samples for the server out of the clients' training data, under their true labels."""
    if not samples:
        return federation, None
    held = np.unique(np.concatenate([shard.train for shard in federation.shards]))
    if samples >= len(held):
        raise ConfigError(f"root.samples = {samples}: clients hold only {len(held)} training samples in all")
    taken = np.sort(generator(seed, "root data").choice(held, size=samples, replace=False))
    shards = tuple(replace(shard, train=np.setdiff1d(shard.train, taken)) for shard in federation.shards)
    nothing = np.zeros(0, dtype=np.int64)
    return Federation(federation.dataset, shards), Shard(taken, taken, nothing)


def drifted(federation: Federation, clients: int, seed: int) -> Federation:
    """The same federation after some clients' data has become that of the next group."""
    groups = federation.groups
    kinds = {} if groups is None else {
        int(g): federation.shards[int(np.flatnonzero(groups == g)[0])] for g in np.unique(groups)
    }  # fmt: skip
    if groups is None or len({(kind.relabel, kind.turns, kind.view) for kind in kinds.values()}) < 2:
        raise ConfigError(
            f"faults.drift_clients = {clients}: this split has no groups to drift between; "
            "label_swap, rotation and feature_shift have"
        )
    movers = generator(seed, "drift").choice(federation.clients, size=clients, replace=False)
    shards = list(federation.shards)
    for client in movers.tolist():
        after = (int(groups[client]) + 1) % len(kinds)
        kind = kinds[after]
        shards[client] = replace(
            shards[client], relabel=kind.relabel, turns=kind.turns, view=kind.view, group=after
        )
    return Federation(federation.dataset, tuple(shards))
