"""Each client holds what is its own: data sets that say whose each sample is."""

from dataclasses import replace
from typing import Annotated

import numpy as np
from pydantic import Field

from flockwise.data import Dataset, Federation, Holder, Shard, hold_out
from flockwise.errors import InputError
from flockwise.rng import generator
from flockwise.splits.contract import Samples, Test, Validation, split
from flockwise.splits.uniform import Indices


@split("each client holds what is its own, where the data set says whose each sample is", example=None)
def natural(
    dataset: Dataset,
    clients: int | None = None,
    seed: int = 0,
    test_share: Annotated[
        float, Field(ge=0, lt=1), "of a client's samples, where it has none in the test part"
    ] = 0.2,
    latest: Annotated[bool, "test on a client's last samples, as for series in time; false: any"] = False,
    samples: Samples = None,
    validation: Validation = 0.1,
    test: Test = None,
) -> Federation:
    """Give each client its own samples, its name and what is known of it.

    `clients` picks that many at random, None takes all. A client's test samples are those in the data set's test part;
    of a client that has none there, a `test_share` of its samples. `samples` and `test` are upper limits. The group is
    the population of the client, where the data set knows one.
    """
    if dataset.writer is None:
        raise InputError(
            f"dataset = {dataset.name}: must say whose each sample is, as keyboards, arms, meters, femnist and folder do"
        )
    whose = np.unique(dataset.writer[: dataset.train])
    if clients is not None:
        if not 1 <= clients <= len(whose):
            raise InputError(f"clients = {clients}: must be 1 to {len(whose)}, as many as the data set has")
        chosen = generator(seed, "split/natural").permutation(len(whose))[:clients]
        whose = whose[np.sort(chosen)]
    for name, limit, least in (("samples", samples, 1), ("test", test, 0)):
        if limit is not None and limit < least:
            raise InputError(f"{name} = {limit}: must be at least {least}")
    shards = []
    for who in whose.tolist():
        train, tested = _own(dataset, dataset.writer, who, seed, test_share, latest)
        train, tested = _some(train, samples, seed, who), _some(tested, test, seed, who)
        kept, held_out = hold_out(train, validation, generator(seed, "split/natural/validation", who))
        known = dataset.holders[who] if who < len(dataset.holders) else Holder("")
        shards.append(
            Shard(
                kept, held_out, tested, user=None if known.name else who, name=known.name or None,
                about=dict(known.about),
            )
        )  # fmt: skip
    if dataset.writer_group is not None:
        groups = [int(dataset.writer_group[shard.train[0]]) for shard in shards]
        shards = [replace(shard, group=group) for shard, group in zip(shards, groups, strict=True)]
    return Federation(dataset, tuple(shards))


def _own(
    dataset: Dataset, writer: Indices, who: int, seed: int, test_share: float, latest: bool
) -> tuple[Indices, Indices]:
    """A client's training and test samples."""
    own = np.flatnonzero(writer == who).astype(np.int64)
    train, test = own[own < dataset.train], own[own >= dataset.train]
    if len(test):
        return train, test
    if not latest:
        return hold_out(own, test_share, generator(seed, "split/natural/test", who))
    count = min(round(len(own) * test_share), len(own) - 1)
    return own[: len(own) - count], own[len(own) - count :]


def _some(indices: Indices, most: int | None, seed: int, who: int) -> Indices:
    """At most so many of them, drawn at random, in their order."""
    if most is None or len(indices) <= most:
        return indices
    return np.sort(generator(seed, "split/natural/some", who).permutation(indices)[:most])
