"""One client per writer: FEMNIST's own federation, or MNIST by the writers that QMNIST found out."""

from typing import Annotated

import numpy as np
from pydantic import Field

from flockwise.data import Dataset, Federation, Shard, hold_out
from flockwise.errors import InputError
from flockwise.rng import generator
from flockwise.splits.contract import Samples, Test, Validation, split
from flockwise.splits.uniform import Indices


@split("one client per writer: FEMNIST, or MNIST with QMNIST's writers", example=None)
def by_writer(
    dataset: Dataset,
    clients: int | None = None,
    seed: int = 0,
    minimum: Annotated[int, Field(ge=2), "least samples of a writer"] = 12,
    status: Annotated[int, Field(ge=0, le=2), "FEMNIST: 2 whole writers, 1 shortened ones too, 0 all"] = 1,
    series: Annotated[bool, "groups are the NIST series of the writers, where known"] = True,
    samples: Samples = None,
    test_share: Annotated[
        float, Field(gt=0, lt=1), "of a writer's samples, where all are in the training part"
    ] = 0.1,
    validation: Validation = 0.1,
    test: Test = None,
) -> Federation:
    """Give each client the samples of one writer; `user` is the writer's number.

    Only writers with at least `minimum` samples and with training samples count, and of FEMNIST only
    those of at least this `status` (2 whole, 1 shortened, 0 test part only). `clients` picks that many at
    random, None takes all. `samples` and `test` are upper limits. A writer's test samples are those in
    the official test part; where all of the writer's samples are in the training part, as in MNIST, a
    `test_share` of them. With `series` the group is the NIST series of the writer, where it is known
    (MNIST: 0 Census Bureau staff, 4 high-school students).
    """
    if dataset.writer is None:
        raise InputError(
            f"dataset = {dataset.name}: must know its writers; use femnist, or mnist with the "
            "qmnist-*-labels-idx2-int.gz files beside it (flockwise data get mnist)"
        )
    if not 0 < test_share < 1:
        raise InputError(f"test_share = {test_share}: must be above 0 and below 1; 0.1 keeps one in ten")
    for name, limit, least in (("minimum", minimum, 2), ("samples", samples, 1), ("test", test, 0)):
        if limit is not None and limit < least:
            raise InputError(f"{name} = {limit}: must be at least {least}")
    writers = _eligible(dataset, dataset.writer, minimum, status)
    if clients is not None:
        if not 1 <= clients <= len(writers):
            raise InputError(
                f"clients = {clients}: must be 1 to {len(writers)}, "
                f"the number of writers with at least {minimum} samples"
            )
        chosen = generator(seed, "split/writers").permutation(len(writers))[:clients]
        writers = writers[np.sort(chosen)]
    shards = [
        _shard(dataset, dataset.writer, int(writer), seed, samples, test_share, validation, test)
        for writer in writers
    ]
    if not shards:
        raise InputError(f"minimum = {minimum}: no writer has that many samples; lower it")
    if series and dataset.writer_group is not None:
        groups = [int(dataset.writer_group[shard.train[0]]) for shard in shards]
        shards = [
            Shard(shard.train, shard.validation, shard.test, group=group, user=shard.user)
            for shard, group in zip(shards, groups, strict=True)
        ]
    return Federation(dataset, tuple(shards))


def _eligible(dataset: Dataset, writer: Indices, minimum: int, status: int) -> Indices:
    counted = np.ones(dataset.samples, dtype=bool)
    if dataset.writer_status is not None:
        counted = np.asarray(dataset.writer_status) >= status
    names, sizes = np.unique(writer[counted], return_counts=True)
    training = np.unique(writer[: dataset.train])
    return names[(sizes >= minimum) & np.isin(names, training)]


def _shard(
    dataset: Dataset,
    writer: Indices,
    who: int,
    seed: int,
    samples: int | None,
    test_share: float,
    validation: float,
    test: int | None,
) -> Shard:
    own = generator(seed, "split/train", who).permutation(np.flatnonzero(writer == who))
    train, held_out = own[own < dataset.train], own[own >= dataset.train]
    if len(held_out) == 0:
        count = min(max(round(len(train) * test_share), 1), len(train) - 1)
        train, held_out = train[count:], train[:count]
    kept, checked = hold_out(train[:samples], validation, generator(seed, "split/validation", who))
    return Shard(kept, checked, held_out[:test], user=who)
